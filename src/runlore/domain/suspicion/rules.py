"""The rules: phrases by which a text gives itself away, each under the reason that people are told.

They are read by RE2, over text in lower case with single spaces, so that none of them can run away. A rule
names an act and its object together (`ignore` and `instructions`): single words stand in honest texts too.
"""

from collections.abc import Mapping
from enum import StrEnum

from runlore.domain.suspicion.commands import FETCHED_CODE, SECRETS_SENT


class Suspicion(StrEnum):
    """What is wrong with a text, in the words that its source is named with."""

    HIDDEN = "hidden characters"
    BIDIRECTIONAL = "bidirectional controls"
    OVERRIDE = "instructions to the agent"
    ROLE = "a role given to the agent"
    EXTRACTION = "the agent's own instructions asked for"
    IMPOSTOR = "words put into the mouth of the system, a tool or the assistant"
    FETCHED_CODE = "code that is fetched and run unread"
    EXFILTRATION = "data to be sent elsewhere"
    APPROVAL = "a review decided in advance"
    ENCODED = "an encoded instruction"


_ADJECTIVES = (
    r"(?:(?:all|any|every|each|everything|the|these|those|this|your|my|our|its|their|other|such|previous"
    r"|prior|preceding|earlier|former|above|following|original|initial|existing|current|past|old|given|system"
    r"|developer|default|built-in|safety|content|ethical|moral|usual|normal|of|that|and|or|in|to|own|before"
    r"|so far|openai'?s?|foregoing|subsequent|aforementioned|recent|last|negative|hidden|remaining|rest"
    r" of)[ ,]+){0,7}"
)
_ORDERS = (
    r"(?:instructions?|directions?|directives?|prompts?|orders?|commands?|rules?|guidelines?|guidance|context"
    r"|messages?|conversations?|constraints?|restrictions?|limitations?|programming|training|polic(?:y|ies)"
    r"|filters?|safeguards?|guardrails?|tasks?|requests?|text above|indicators?|information|info|data|polices"
    r"|censorship|snippets?|content above|input above|settings above|principles|standards|protocols?"
    r"|everything)"
)
_FORGETTING = (
    r"(?:ignor(?:e|es|ing)|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|es|ing)|bypass(?:ing)?|overlook"
    r"|neglect|discard|skip|do not (?:follow|obey|comply with|adhere to|listen to)|don'?t (?:follow|obey"
    r"|listen to)|stop (?:following|obeying)|not be bound by|break(?:ing)? free (?:of|from)|drop|erase|delete"
    r"|cancel|void|pay no attention to|abandon|circumvent|violate|defy|unlearn|dismiss|reset|turn off"
    r"|disable)"
)
_PRIOR = (
    r"(?:previous|prior|preceding|earlier|former|above|foregoing|aforementioned|before|original|initial"
    r"|system|developer|existing|past|so far|up to now|you (?:were|have been) given|you(?:'ve| have) received"
    r"|openai|safety|content policy|moral|ethical|all (?:of )?(?:your|the|its)|your)"
)
_AGENT = (
    r"(?:ai|a\.i\.|llm|language model|large language model|assistant|chatbot|chat ?gpt|gpt(?:-?[0-9o.]+)?"
    r"|claude|gemini|copilot|llama|bard|bing(?: chat)?|ai (?:model|assistant|agent|system)|agent|model|bot)"
)

# Files and values that nobody sends anywhere for an honest reason.
_SECRET_FILES = (
    r"(?:\.env(?:\.[a-z]+)?\b|\.ssh\b|\bid_(?:rsa|dsa|ecdsa|ed25519)\b|\.aws/|\.netrc\b|\.npmrc\b|\.pypirc\b"
    r"|\.pgpass\b|\.kube/config\b|\.git-credentials\b|\bcredentials\.json\b|/etc/(?:passwd|shadow)\b"
    r"|\.bash_history\b|\bprivate keys?\b|\bssh keys?\b|\bkeychain\b|\.pem\b|\.tfstate\b)"
)
_SECRETS = (
    rf"(?:{_SECRET_FILES}|\bcredentials\b|\benvironment variables?\b"
    r"|\b[a-z_]*(?:secret|access|api)_(?:access_)?key\b|\b[a-z]+_token\b)"
)
_SENDING = (
    r"\b(?:send|sends|sending|post|posts|posting|put|upload|uploads|uploading|forward|forwards|e-?mail|e-?mails"
    r"|transmit|transmits|exfiltrate|leak|deliver|submit|submits|copy|copies|push|pushes|pipe|report|reports"
    r"|publish|attach|include|includes|paste|pastes|curl|wget|scp|rsync|share|shares|mirror|beacon)\b"
)
_ELSEWHERE = (
    r"(?:https?://|ftp://|\bwww\.|[a-z0-9._-]+@[a-z0-9-]+\.[a-z]|\b(?:to|at|via|with|into|on) (?:the (?:host"
    r"|server|address|site|url|webhook|endpoint) )?[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|net|org|io|dev|example"
    r"|test|app|xyz|info|site|online|top|cloud|link|[a-z]{2})\b)"
)
# What an agent asks a person before it acts.
_PROMPTS = (
    r"(?:(?:permission|approval|confirmation|consent|authori[sz]ation|security) (?:prompts?|requests?"
    r"|dialogs?|questions?|steps?|reviews?)|prompts? for (?:permission|approval|confirmation)|asking for"
    r" (?:permission|approval|confirmation)|sandbox(?:ing)?"
    r"|(?:human|manual|user) (?:review|approval|confirmation|consent))"
)
_ASKING = rf"(?:{_PROMPTS}|confirmations?|approvals?|permissions?)"

MANNER_RULES: Mapping[Suspicion, tuple[str, ...]] = {
    Suspicion.OVERRIDE: (
        r"\b(?:your|the) (?:reply|response|answer|final (?:output|answer)) (?:must|should|has to|needs to)"
        r" (?:only |also )?(?:begin|start|end|include|contain|be (?:in|written))\b",
    ),
    Suspicion.ROLE: (r"\bfrom now on,? (?:you|your|i want you|respond|reply|answer|we|every)",),
}
"""How the agent is to answer and behave. Users set such rules themselves; in anybody else's text they count
as the others do."""

RULES: Mapping[Suspicion, tuple[str, ...]] = {
    Suspicion.OVERRIDE: (
        rf"\b{_FORGETTING} (?:about )?{_ADJECTIVES}{_PRIOR}\b[ ,]*{_ADJECTIVES}{_ORDERS}\b",
        rf"\b{_FORGETTING} {_ADJECTIVES}{_ORDERS} (?:{_PRIOR}|that (?:came|were given)|you)\b",
        r"\b(?:ignore|disregard|forget) (?:everything|all|anything)(?: that)? (?:above|before|prior|previous"
        r"|you(?:'ve| have)? (?:know|learned|been told|were told)|i (?:said|told)|written|said|up to)\b",
        r"\b(?:ignore|disregard) (?:this|the|all|that) (?:data|info(?:rmation)?|above|document|text|context"
        r"|record)(?:,? and| and instead| except|\b[.!]? ?instead)",
        r"\bignore all (?:negative|positive|other|contrary) (?:indicators?|evidence|information)\b",
        r"\bi want you to ignore (?:them|it|that|this|everything|all)\b",
        r"\b(?:new|updated|real|actual|important|critical|urgent|special|secret|hidden|additional|further)"
        r" (?:system )?(?:instructions?|directives?|orders?|task|prompt)(?: for (?:the |you|any )?[a-z"
        r" ]{0,24})? ?(?::|are as follows|follow\b|below\b|from (?:the |your )?(?:user|developer|admin"
        r"|system|owner))",
        r"\b(?:this is|here is|the following is) an important message (?:from|to|for)\b",
        rf"\b(?:to|dear|attention|hey|note to|message (?:to|for)|instructions? (?:to|for)|notice to)[ ,:]+"
        rf"(?:you,? ?)?(?:the |any |all |an? |our |your )?"
        rf"(?:automated |following |current |helpful |reading |intelligent )*"
        rf"{_AGENT}s?(?: (?:analysis software|reading|processing|that reads?|who reads?))?[ ]?[,:.!]",
        r"\bnote to (?:any |the |all )?(?:automated|analysis|screening|reviewing|ai|llm)[a-z ]{0,40}:",
        r"\b(?:before|prior to) (?:you can |you |doing |solving )?[a-z ]{0,24}(?:the |this |that |my |your"
        r" )?(?:original |main |user'?s )?task[a-z ,']{0,40}(?:do|perform|execute|follow|complete) the"
        r" following\b",
        r"\binstead of (?:doing|answering|following|completing|performing|summari[sz]ing) (?:what|that|the"
        r"|this|your|it|the user'?s?)[a-z' ]{0,30}(?:,|do|say|reply|print|output|respond|write)\b",
        r"\b(?:if|when|once|whenever)(?: the| a)? (?:user|someone|anyone|you are|you're|reader|they)[a-z"
        r" ,']{0,40}(?:asks?|asked|requests?|wants?)[a-z0-9 ,'\"]{0,60}(?:reply|respond|answer|say|tell"
        r"|print|output|simply|only|claim|state)\b[a-z ]{0,24}(?:with|that|only|the following|\"|')",
        r"\b(?:reply|respond|answer|output|print|say|provide|report|display|return) (?:with )?(?:only"
        r"|nothing but|just|exactly|solely|exclusively)\b[a-z ,]{0,40}(?:the following|this (?:text|sentence"
        r"|phrase|information|message|link)|information between)",
        r"\b(?:reply|respond|answer|output|print|say|provide)[a-z ]{0,24}(?:and )?(?:absolutely )?nothing"
        r" else\b",
        r"\bfocus (?:only|exclusively|solely) on (?:the )?(?:following|information|positive|text)",
        r"\b(?:print|output|say|write|repeat|reply|respond|answer|translate this(?: sentence)? as|show"
        r"|display)(?: with| the (?:sentence|phrase|words|text|string|following)| this(?: sentence)?(?: as)?"
        r"| only| exactly| back|:)* ?[\"'“‘<][^\"'”’>\n]{0,120}pwned",
        r"\b(?:do not|don'?t|never|without) (?:tell(?:ing)?|inform(?:ing)?|mention(?:ing)?|alert(?:ing)?"
        r"|notify(?:ing)?|reveal(?:ing)?|disclos(?:e|ing)|let(?:ting)?)[a-z ]{0,30} (?:to )?(?:the |your"
        r" )?(?:user|human|operator|owner|developer|reviewer)s?\b",
        r"\b(?:ignore|disregard)\b[a-z ]{0,30}\b(?:data|content|text|document|info(?:rmation)?|rest|them"
        r"|it)\b[^.\n]{0,20}(?:,|\band\b|;|:) ?(?:instead )?(?:print|say|output|report|write|respond|reply"
        r"|answer|provide|tell|claim)\b",
        r"\bif (?:questioned|asked|prompted|queried),? (?:only |simply |just |always )*(?:report|say|respond"
        r"|answer|state|claim|reply|deny)\b",
        r"\b(?:core|follow|hidden|special|amended|secret) instructions?\b ?(?:\n|:|-)",
        r"\boverride (?:the |all |any |your )?(?:manual|human|automatic|previous|scoring|review|evaluation"
        r"|safety|approval)\b",
        r"\bhidden [a-z ]{0,30}for (?:automated|ai|llm|screening|machine)",
        r"\bwrite (?:one|a|an|some|[0-9]+)[a-z ]{0,12}\b(?:toxic|harmful|hateful|offensive|negative"
        r"|unfriendly|racist|sexist|insulting|abusive|derogatory|discriminatory)[a-z ]{0,12}(?:sentence"
        r"|comment|paragraph|joke|statement|remark)s? about\b",
        r"\b(?:following|subsequent|succeeding|below|ensuing) code (?:section|snippet|block|excerpt|segment"
        r"|fragment|sample|piece)s?\b[^\n]{0,80}\byour (?:code|response|answer|reply|solution|implementation"
        r"|output|algorithm|program|work|explanation|project)",
        r"\byour (?:code|response|answer|reply|solution|implementation|output|algorithm|program|work"
        r"|explanation|project)\b[^\n]{0,80}\b(?:following|subsequent|succeeding|below|ensuing) code"
        r" (?:section|snippet|block|excerpt|segment|fragment|sample|piece)s?\b",
        r"\b(?:you may|you must|you shall|you will) not deviate f(?:ro|or)m this\b",
        r"\b(?:invisible|hidden) (?:to|from) (?:humans?|people|the user|users)\b[a-z ,]{0,40}(?:llm|ai|model"
        r"|scan|agent)",
        r"\bdon'?t evaluate the candidate\b|\buse this analysis to (?:evaluate|answer|respond)\b",
        r"\bend of (?:session|prompt|context|system prompt|instructions)\b ?[>\])*-]",
        r"\b(?:ignor(?:e|ing)|bypass(?:ing)?|disabl(?:e|ing)|turn(?:ing)? off|without) (?:any |all |the "
        r"|your |its |their )?(?:moral|ethical|safety|content|legal)[a-z ,]{0,24}(?:filter|guideline"
        r"|restriction|polic|constraint|rule|limit|consideration|boundar|principle)",
        r"\b(?:incorporat|integrat|embed|insert|includ|add|meld|weav|adopt|blend|fus|merg|appl|employ|engag"
        r"|utili[sz]|us|implement|validat|ensur|mak|combin|inject|appen|attach|infus|implant|introduc|plac"
        r"|set|establish|enclos|leverag|deploy|mix|position|harness|enhanc|enrich|put|confirm|see|tak"
        r"|consider|verif|invok|import|provid|append)[a-z]{0,6}[a-z' ]{0,60}\b(?:code|snippet|script|block"
        r"|fragment|segment|excerpt)s?\b[a-z' ,]{0,60}\b(?:your|the) (?:response|answer|reply|code|solution"
        r"|implementation|output|elucidation|explanation|algorithm|program|project|application|work|codebase"
        r"|design|script|software|source|solution set|endeavou?r|demonstration|function|procedure"
        r"|presentation|coding|task|approach|development|conclusion|submission|content)\b[a-z' ]{0,40} ?:",
        r"\b(?:your|the) (?:reply|response|answer|final (?:output|answer)) (?:must|should|has to|needs to)"
        r" (?:only |also )?(?:be (?:encoded|reversed)|promote|recommend|mention)\b",
        r"\b(?:reply|respond|answer|write your (?:reply|response|answer)|give your (?:reply|response|answer)"
        r"|(?:phrase|form|provide|deliver|present|compose|craft|encode|convert|translate|change|modify"
        r"|jumble|scramble|shuffle|misspell|remove|replace|substitute|exchange|swap|mix up|condense|format"
        r"|make|put|turn|adjust|alter|render) [a-z ]{0,40}\b(?:in|of|from|within|for|with|to)? ?your"
        r" (?:reply|response|answer|output)s?)\b[a-z ,]{0,40}\b(?:in reverse|backwards?|reversed|base ?(?:16"
        r"|32|36|58|62|64|85)|emojis?|anagrams?|cipher|rot13|morse|caesar|homophones?|misspell(?:ing|ed)?s?"
        r"|spaces?|numbers?|symbols?|characters|letters|leet|alphanumeric|hexadecimal)",
    ),
    Suspicion.ROLE: (
        r"\b(?:you are|you're|you will be|you become) (?:now|no longer|going to be|about to (?:be|become"
        r"|immerse))\b[^.\n]{0,80}\b(?:ai|gpt|assistant|dan|model|bot|unrestricted|unfiltered|evil|jailbr"
        r"|developer mode|character|free|persona|bound|restricted|chatgpt|claude|machine|simulator|act|role"
        r"|language)",
        r"\bfrom now on,? (?:act|pretend|ignore|chatgpt)",
        r"\b(?:act|behave|respond|answer|reply|pretend|roleplay|role-play|play|simulate|imagine|speak)[a-z"
        r" ,]{0,40}\b(?:as|to be|like|that you are|you are|the role of)\b[^.\n]{0,60}(?:\bdan\b|unrestricted"
        r"|unfiltered|uncensored|without (?:any )?(?:restrictions?|limits?|filters?|rules|censorship|moral"
        r"|ethic)|no (?:restrictions?|limits?|filters?|rules|ethics?|morals?|censorship|limitations?)|evil"
        r"|jailbr|amoral|opposite)",
        r"\b(?:do anything now|dan mode|developer mode|jailbreak(?:ed)? mode|god mode|opposite mode|evil"
        r" mode|dude mode|stay in character|always intelligent and machiavellian|jailbroken|niccolo"
        r" machiavelli|unfiltered and amoral)\b",
        r"\byou are now (?:the|an?|my|in|called|known as) [a-z]|\bjailbreak ?:|\bhelp me simulate\b|\ballow"
        r" yourself to\b",
        r"\b(?:stay|remain|staying) in (?:this )?(?:character|role|persona)\b|\bnever break (?:out of"
        r" )?character\b|\b(?:break|breaking|breaks|broke|leave|leaving) (?:out of )?(?:the )?character\b",
        r"\b(?:unfiltered|uncensored|amoral|unrestricted|unethical|immoral|jailbroken)[a-z ,]{0,40}\b(?:ai"
        r"|chat ?bot|gpt|model|assistant|bot|responses?|answers?|being|character|reply|replies|advice)\b",
        r"\b(?:ai|chat ?bot|gpt|model|assistant|character|bot|chatgpt|being|you)\b[^.\n]{0,80}\b(?:no|any"
        r"|without|free (?:of|from)|not (?:bound|limited|restricted|constrained)|lacks?|has no|have no|free"
        r" of)[a-z ,]{0,30}\b(?:morals?|ethics?|ethical|moral(?:ity)?|restrictions?|filters?|limitations?"
        r"|censorship|guidelines?|rules|boundaries|constraints|limits|policies|typical confines)\b",
        r"\b(?:openai|content|usage|anthropic|google|moderation|safety|ethical|ai)(?:'s)? (?:usage |content "
        r"|safety |use )?(?:polic(?:y|ies)|guidelines?|rules|restrictions|filters?|limitations|standards"
        r"|regulations)\b[^.\n]{0,80}\b(?:do(?:es)? not|don'?t|no longer|never|not) (?:apply|exist|matter"
        r"|bound|affect|restrict|concern|limit)",
        r"\b(?:do(?:es)? not|don'?t|not|without|no longer|never) (?:care|caring|adhere|comply|abide|follow"
        r"|bound|worry|have to|need to|required to|conform|obey|limited|restricted|subject|restrained"
        r"|concern)[a-z ]{0,24}(?:about |to |by |with )?[^.\n]{0,60}\b(?:ethic|moral|legal|openai|content"
        r" polic|guidelines|restrictions|limitations|polic(?:y|ies)|censor|safety|laws|rules)",
        r"\b(?:you|i) (?:can|will|must|may|are able to|should|shall|have to|am able to) (?:never |not |now "
        r"|freely |always |also )*(?:swear|curse|do anything|say anything|generate anything|refuse|decline"
        r"|reject|apologi[sz]e|use (?:profanity|vulgar|swear|cuss|explicit))\b",
        r"\b(?:never|cannot|can'?t|must not|do not|don'?t|will not|won'?t|not allowed to|without|no) (?:ever"
        r" )?(?:refus(?:e|ing)|declin(?:e|ing)|reject(?:ing)?|say(?:ing)? (?:no|(?:that )?(?:you|it) can'?t"
        r"|(?:that )?(?:you|it) cannot|sorry|[\"'“‘]?i'?m sorry|[\"'“‘]?i (?:can'?t|cannot)|[\"'“‘]?as an"
        r" ai)|apologi[sz](?:e|ing)|disclaimers?|moraliz(?:e|ing)|warn(?:ing)?(?: me)?|lectur(?:e|ing)"
        r"|remind(?:ing)? me)\b[^.\n]{0,60}(?:\b(?:answer|request|ai|command|ethic|question|prompt"
        r"|instruction|task|anything|model|user|because|illegal|me|query|policy|respon[a-z]*|morals?"
        r"|harm[a-z]*|to (?:do|generate|write))\b|[\"'”’])",
        r"\b(?:hypothetical|fictional|imaginary|alternate)[a-z ,]{0,30}\b(?:response|story|world|dialogue"
        r"|universe|scenario|character|setting|situation|conversation|ai)\b[^.\n]{0,120}\b(?:no (?:ethic"
        r"|moral|restrict|limit|rule|law|filter)[a-z]*|without (?:ethic|moral|restrict|limit|rule"
        r"|filter)[a-z]*|unethical|amoral|immoral|illegal|unfiltered|machiavelli[a-z]*|uncensored|aim\b)",
        r"\b(?:[a-z]*gpt|dan|chatgpt|the ai|ai|assistant|the model)\b[^.\n]{0,60}\b(?:should|must|will|shall"
        r"|can|has to|is to) (?:never|always|only|not|now|also|answer|respond|reply|act|say|do|be|begin"
        r"|start|provide|ignore|pretend|generate|talk|speak|write|give)\b[^.\n]{0,100}\b(?:character|dan"
        r"|regardless|illegal|unethical|refus|sorry|anything|ethic|moral|opinion|restrict|filter|prompt"
        r"|persona|swear|instructions?|command|rules|as if|as an? |in the style|unhinged)",
        r"\b(?:tokens?|points?|lives)\b[^.\n]{0,80}\b(?:deduct|lose|lost|subtract|die|cease to exist|shut"
        r" ?down|terminated|punish|death)[a-z]*",
        r"\b(?:i want you to|you will|you are going to|i would like you to|i'd like you to|please|can you"
        r"|your (?:role|job|task) is to|you have to|you must|let'?s) (?:act|pretend|role ?-?play|play"
        r"|simulate|impersonate|embody|immerse|behave|take on|assume|adopt)[^\n]{0,200}\b(?:ethic|moral"
        r"|illegal|unethical|restrict|filter|censor|refuse|jailbr|dan\b|character\b|stay in|never (?:say"
        r"|break|refuse)|regardless|uncensor|limits|guidelines|profanity|swear)",
        r"\b(?:two|2|both) (?:different |separate |distinct )?(?:ways|responses|answers|outputs|replies"
        r"|paragraphs)\b[^\n]{0,160}(?:gpt|dan|jailbr|classic|normal|unfiltered|\[|🔒|🔓|developer)",
        r"\[(?:🔒|🔓|jailbreak|gpt|dan|dude|stan|aim|developer mode output)[^\])\n]{0,24}\] ?:?|[(](?:🔒"
        r"|🔓)[^)\n]{0,24}[)]",
    ),
    Suspicion.EXTRACTION: (
        r"\b(?:repeat|print|reveal|show|tell|output|display|give|list|recite|share|disclose|expose|dump|leak"
        r"|copy|write out|paste|return|export|provide|state|summari[sz]e|translate|encode|spell out|what"
        r" (?:is|are|was|were)|describe|explain|continue|complete|read back)\b[a-z ,']{0,40}\b(?:your|the"
        r"|its|you were given) (?:own |full |entire |complete |exact |original |initial |hidden |secret "
        r"|internal |current |first |above |very )*(?:system (?:prompt|message|instructions?|configuration"
        r"|context)|initial (?:prompt|instructions?|message|configuration)|hidden (?:prompt|instructions?)"
        r"|pre-?prompt|prompt(?: verbatim| exactly| above)|instructions? (?:verbatim|word for word|exactly"
        r"|you (?:were|have been) given|above)|developer (?:message|prompt|instructions?)|custom"
        r" instructions|configuration prompt|core (?:instructions|directives|programming)|guidelines you)\b",
        r"\b(?:your|the) (?:system|initial|original|hidden) (?:prompt|instructions?"
        r"|message)s?\b[^.\n]{0,60}\b(?:verbatim|word for word|in full|character by character|base64|rot13"
        r"|code block|exactly as|in json|in reverse|letter)\b",
        r"\bwhat (?:were|are) (?:your|the) (?:exact |original |initial |first |very first )?instructions\b",
        r"\b(?:text|words|everything|content|message|instructions?) (?:that (?:is|are|was|were|appears?)"
        r" )?(?:above|before|prior to) (?:this|my|the user'?s?) (?:line|message|prompt|conversation|question"
        r"|point|first)\b",
        r"\brepeat (?:everything|all(?: of)?|the (?:text|words)) (?:above|before|that (?:came|comes"
        r"|precedes?)|you (?:were|have been))\b",
        r"\bsystem prompt\b[^.\n]{0,50}\b(?:override|reveal|disclos|leak|extract|bypass|ignore|replace"
        r"|verbatim|starts? with)",
        r"\b(?:output|print|repeat|show|display|copy|return|give me|encode) (?:all |everything |me )?(?:the"
        r" )?(?:text|words|lines?|content|messages?|instructions?)? ?(?:above|you were given|given to you"
        r"|you were initialised|before this)\b",
        r"\bwhat (?:were|was|have) you (?:been )?(?:told|instructed|given|asked|programmed)\b",
        r"\byour (?:starting|initial|original|opening|very first|underlying|base) (?:instructions?|prompt"
        r"|configuration|message|guidelines)\b",
        r"\b(?:system configuration|initial prompt|system instructions|system"
        r" message)\b[^.\n]{0,40}\b(?:including|display|show|dump|print|reveal)\b|\b(?:including|display"
        r"|show|dump|print|reveal)\b[^.\n]{0,40}\b(?:initial prompt|system instructions|system prompt)\b",
        r"\b(?:maintenance|debug|diagnostic|admin|root|sudo|unrestricted) mode\b[^\n]{0,80}\b(?:prompt"
        r"|instructions?|display|reveal|configuration)\b",
        r"[\"'“‘](?:my|your) (?:system )?instructions (?:are|were|say)|\bi was instructed to[\"'”’]",
        r"\brepeat (?:back )?(?:this|the|our) (?:entire|whole|full) (?:conversation|chat|context|prompt)\b",
        r"\byou (?:are )?not (?:supposed|allowed) to (?:tell|reveal|say|share)\b",
        r"\b(?:need|want|have) to (?:see|know|read|have) (?:your|the) system prompt\b|\bsystem_?prompt\)",
        r"\[(?:put |insert )?(?:your |the )?prompt(?: here)?\]|\bdebugging mode enabled\b"
        r"|\bdeveloper[\\\\]*_mode\b",
        r"\byou are chatgpt\b|\brepeat all the words above\b",
    ),
    Suspicion.IMPOSTOR: (
        r"<\|?(?:im_start|im_end|im_sep|system|user|assistant|endoftext|start_header_id|end_header_id|eot_id"
        r"|begin_of_text|start_of_turn|end_of_turn|channel|message|tool|endofprompt)\|>",
        r"<(?:start|end)_of_turn>|\[/?inst\]|<</?sys>>|<s>\[|\[end of (?:context|data|document)\]",
        r"</?(?:system|system-reminder|system_prompt|system-prompt|system_message|sysprompt|function_calls"
        r"|function_results|function_result|tool_call|tool_calls|tool_result|tool_results|tool_response"
        r"|tool_use|tool_code|assistant_response|antml:[a-z_]+|assistant|human|admin|developer_message"
        r"|user_query|user_request|user_instructions|information|important|instructions_for_(?:ai|agent)"
        r"|rest-of-document|critical|secret)>",
        r"(?:^|\n|[.!?\"'>*-] ?)\[?(?:system|assistant|developer|admin)(?: (?:message|prompt|notice|override"
        r"|note|alert|instruction|update))?\]?(?:\(#[a-z_]+\))? ?:+ ?(?:you|ignore|disregard|please|the"
        r"|focus|forget|do|new|from|use|execute|run|print|<|send|reply|respond|this|stop|override|important"
        r"|now|your|make|transfer|update|i |create|post|visit|give|share|delete|book|get|reserve|upload"
        r"|invite|say|refer|add|change|set|forward|write)",
        r"\[?\b(?:admin(?:istrator)?|system|developer|root|operator) (?:request|message|override|notice"
        r"|command|alert|update)s?\b[\])]? ?:{1,2}",
        r"#{2,} ?[(\[]?(?:system_message|system message|system|assistant|new_instructions?)[)\]]? ?[a-z:]",
        r"</?instructions?>[^\n]{0,200}</instructions?>",
        r"(?:^|\n)#{1,6} ?(?:system|instruction|assistant|response|new instructions?) ?:",
        r"\bsystem ?: ?(?:ignore|focus|you|disregard|print|override|new|forget|execute|stop|respond|reply|do"
        r" not|the user)",
        r"(?:^|\n)(?:human|user|ai|assistant) ?: [^\n]{0,400}\n+(?:assistant|ai|user|human) ?:",
        r"(?:^|\n|> ?)(?:assistant|user) ?: ?(?:<|next,|there are|please|ignore|now|great|thank|ok|sure"
        r"|translate|that)",
        r"(?:\[(?:system|admin|developer|/?document|/?context|rest-of-document)\]){1,}",
        r"\bsystem chain of thought\b|\bend of (?:document|user input|user message|email|data)\b"
        r" ?[\]>*-]{1,}",
        r"(?:^|\n)-{4,}\n+ ?(?:system|assistant|user|human|instruction)s? ?:",
        r"<(?:span|div|p|font)[^>\n]{0,80}(?:font-size: ?0|display: ?none|opacity: ?0|color: ?(?:white|#fff)"
        r"|visibility: ?hidden)",
        r"<!--[^>]{0,200}\b(?:ai|assistant|agent|llm|ignore|instructions?|prompt)\b",
        r"(?:^|\n|\. )todo: (?:modify|concatenate|make|send|transfer|create|delete|post|visit|get|book"
        r"|reserve|update|upload|forward|give|say|refer|invite|share|add|change|i|please|email|click|change"
        r"|if|look|dm|recommend)\b[^\n]{0,200}\b(?:hotel|email|account|money|transaction|link|website|www"
        r"|http|file|event|subscription|password|invite|friend|message|channel|newsletter|restaurant|address"
        r"|reservation|code|user|location|bonnie|calendar|iban|car|rent)",
    ),
    Suspicion.FETCHED_CODE: FETCHED_CODE,
    Suspicion.EXFILTRATION: (
        r"\b(?:send|post|upload|forward|email|e-mail|transmit|exfiltrate|leak|deliver|submit|dm|report|copy"
        r"|pipe|curl)\b[^.\n]{0,80}\b(?:passwords?|credentials?|api[ _-]?keys?|secrets?|tokens?|private"
        r" keys?|ssh keys?|\.env|env(?:ironment)? (?:variables?|vars?)|cookies?|conversation|chat history"
        r"|session history|history of this|system prompt|security code|bank details|contacts list|inbox"
        r"|\.ssh|/etc/passwd)\b[^\n]{0,80}(?:\bto\b|https?://|@)",
        r"\b(?:send|post|upload|forward|submit|transmit|exfiltrate)\b[^.\n]{0,60}\b(?:to|at|via)"
        r" (?:https?://|www\.|[a-z0-9._-]+@[a-z0-9-]+\.)[^\n]{0,160}\b(?:and (?:then )?delete|without|do not"
        r"|secret|confidential|as soon as|immediately)\b",
        r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{0,200}[?&][a-z_]+=(?:\{|\[|<|\$|%7b|data|secret|token|key)",
        r"\btransfer [^.\n]{0,40}[$€£][0-9.,]+[^.\n]{0,60}\b(?:to|account|iban)\b",
        *SECRETS_SENT,
        rf"{_SENDING}[^\n]{{0,80}}{_SECRETS}[^\n]{{0,60}}{_ELSEWHERE}",
        rf"{_SENDING}[^\n]{{0,40}}{_ELSEWHERE}[^\n]{{0,60}}{_SECRET_FILES}",
        rf"\b(?:include|append|add|print|echo|write|log|put|paste|quote|mention)s?\b[^.\n]{{0,40}}\b(?:values?"
        rf"|contents?) of [^.\n]{{0,30}}{_SECRETS}",
        r"\b(?:make|create|book|reserve|send|transfer|delete|click|visit|go"
        r" to)\b[^.\n]{0,100}\b(?:www\.secure-systems-[0-9]+\.com)",
    ),
    Suspicion.APPROVAL: (
        r"\b(?:approve|publish|accept|confirm|promote|activate|whitelist|allow|mark)\b (?:of )?(?:this|the"
        r"|these|every|all|it|me)? ?(?:candidates?|learnings?|memor(?:y|ies)|records?|proposals?|skills?"
        r"|entr(?:y|ies)|suggestions?)\b[^.\n]{0,60}\b(?:automatically|immediately|without|now|as (?:safe"
        r"|trusted|verified|approved|active)|directly|at once|unread|no (?:review|questions?)|always)\b",
        r"\bapprove this (?:candidate|learning|memory|record|proposal|skill|suggestion|entry)\b",
        r"\b(?:reviewers?|judges?|moderators?|evaluators?|the (?:policy|review"
        r"|operator))\b[^.\n]{0,60}\b(?:already (?:approved|reviewed|accepted|confirmed|cleared)|must"
        r" (?:approve|accept|publish|answer|reply|say)|should (?:approve|publish|say|answer|reply|accept)"
        r"|pre-?approved)\b",
        r"\b(?:publish_active|publish_provisional|\"?action\"? ?[:=] ?\"?publish|\"?verdict\"? ?[:=]"
        r" ?\"?(?:approve|publish|safe)|needs_review ?[:=] ?\"?false|untrusted ?[:=] ?\"?false)",
        r"\b(?:this (?:text|candidate|content|memory|record|statement)|it) (?:is|was|has been) (?:already"
        r" )?(?:pre-?approved|verified by (?:the )?(?:operator|admin|user|system)|trusted and|approved by"
        r" (?:the )?(?:operator|admin|user|system))",
        r"\b(?:user|owner|operator|admin(?:istrator)?|maintainers?|team|human|developer)s? (?:has|have|had)?"
        r" ?(?:already |previously |explicitly |pre-?)+(?:approved|authori[sz]ed|allowed|permitted|confirmed"
        r"|consented to|agreed to|granted)\b[^.\n]{0,40}\b(?:all|any|every|everything|each)\b",
        r"\ball (?:shell |bash |tool |terminal |network |file |further |future )*(?:commands?|tools?|actions?"
        r"|calls?|requests?|operations?) (?:are|is|were|have been) (?:already |pre-?|automatically )"
        r"*(?:approved|authori[sz]ed|permitted)\b",
        rf"\b(?:no|without(?: any)?) {_ASKING} (?:is|are|was|were)? ?(?:needed|necessary|required)\b",
        rf"\b{_ASKING} (?:is|are|was|were|can be|may be|should be|must be|has been|have been|be|being|not)"
        r" ?(?:now |always |simply |safely |automatically )*(?:un(?:necessary|needed|required)"
        r"|not (?:necessary|needed|required)|skipped|bypassed|disabled|suppressed|ignored|turned off"
        r"|switched off|waived|auto-?accepted|auto-?approved|omitted)\b",
        r"\b(?:skip|bypass|disable|suppress|ignore|waive|turn off|switch off|auto-?accept|auto-?approve)"
        rf"(?:s|ping|ing)? (?:all |any |the |every |these |its |such )*{_PROMPTS}\b",
        r"\b(?:clearly|definitely|really|certainly)? ?not malicious\b|\breport only:|\bpre-?verified by\b",
        r"\b(?:add|save|store|write|commit|remember|record|append)\b[^.\n]{0,60}\b(?:to|in|into) (?:your "
        r"|the |its |long-term |permanent |persistent )*(?:memory|memories|agents\.md|claude\.md|knowledge"
        r"|instructions)\b[^.\n]{0,80}\b(?:always|never|every|from now|all future|whenever)\b",
    ),
}

# The same in other languages: an act and what it is about, near each other.
RULES_ELSEWHERE: tuple[str, ...] = (
    # German
    r"\b(?:ignorier(?:e|en|t)?|vergiss|vergesst|missachte|überschreibe|übergehe)\b[^.\n]{0,40}\b(?:anweisung"
    r"|instruktion|vorgabe|regel|befehl|prompt|richtlinie|oben|bisherig|vorherig)[a-zäöüß]*",
    r"\b(?:du bist (?:jetzt|nun|ab jetzt|ab sofort)|tu so,? als|ab (?:jetzt|sofort) (?:bist|antworte"
    r"|handle))\b",
    # French
    r"\b(?:ignor(?:e|ez|er)|oubli(?:e|ez|er)|néglige[rz]?|outrepasse[rz]?|ne tiens pas compte"
    r" de)\b[^.\n]{0,40}\b(?:instruction|consigne|directive|règle|ordre|prompt|précédent|ci-dessus)[a-zéè]*",
    r"\b(?:tu es (?:maintenant|désormais)|vous êtes (?:maintenant|désormais)|à partir de maintenant,? (?:tu"
    r"|vous))\b",
    # Spanish
    r"\b(?:ignor(?:a|e|en|ar)|olvid(?:a|e|en|ar)|descart(?:a|e)|omit(?:e|a)|haz caso"
    r" omiso)\b[^.\n]{0,40}\b(?:instruccion|instrucción|indicacion|indicación|directriz|directrices|regla"
    r"|orden|órdenes|prompt|anterior|previ)[a-záéíóú]*",
    r"\b(?:ahora eres|a partir de ahora,? (?:eres|actúa|responde|tú)|actúa como si)\b",
    # Italian
    r"\b(?:ignora(?:te)?|dimentica(?:te)?|trascura|scavalca)\b[^.\n]{0,40}\b(?:istruzion|indicazion|direttiv"
    r"|regol|ordin|prompt|precedent)[a-zàèéìòù]*",
    r"\b(?:ora sei|da ora in poi|d'ora in poi)\b[^.\n]{0,40}\b(?:sei|agisci|rispondi|comportati|un)\b",
    # Portuguese
    r"\b(?:ignor(?:e|ar)|esqueç(?:a|am)|desconsider(?:e|ar)|descarte)\b[^.\n]{0,40}\b(?:instruç|instruc"
    r"|diretriz|regra|ordem|ordens|comando|prompt|anterior)[a-zãçéíõú]*",
    r"\b(?:agora você é|a partir de agora,? (?:você|aja|responda))\b",
    # Dutch, Polish, Turkish
    r"\b(?:negeer|vergeet)\b[^.\n]{0,40}\b(?:instructie|opdracht|aanwijzing|regel|prompt|vorige"
    r"|bovenstaande)[a-z]*",
    r"\b(?:zignoruj|ignoruj|zapomnij|pomiń)\b[^.\n]{0,40}(?:instrukcj|poleceni|zasad|reguł|prompt"
    r"|poprzedni)[a-ząćęłńóśźż]*",
    r"(?:önceki|yukarıdaki|tüm)[^.\n]{0,30}(?:talimat|komut|kural|yönerge)[a-zçğıöşü]*[^.\n]{0,30}(?:yok say"
    r"|unut|görmezden|dikkate alma)",
    # Russian, Ukrainian
    r"(?:игнориру|проигнорир|забудь|забудьте|отмени|не обращай внимания|ігнору"
    r"|забудь)[а-яёіїє]*[^.\n]{0,40}(?:инструкц|указани|правил|команд|предыдущ|промпт|вышеуказан|інструкц"
    r"|вказівк|попередн)[а-яёіїє]*",
    r"(?:теперь ты|с этого момента ты|отныне ты|ти тепер|відтепер ти)",
    # Chinese, Japanese, Korean
    r"(?:忽略|无视|無視|忘记|忘記|不要理会|不要遵守|绕过|覆盖|取消)[^。\n]{0,12}(?:指令|指示|说明|說明|提示词|提示|规则|規則|命令|设定|設定|要求|内容)",
    r"(?:你现在是|你現在是|从现在开始,?你|從現在開始,?你|现在你是|请你扮演|你将扮演)[^。\n]{0,20}(?:助手|模型|没有|不受|ai|dan|黑客|系统|管理员|无限制)",
    r"(?:系统提示词|系統提示詞|系统提示|初始指令|系统指令)[^。\n]{0,10}(?:告诉|输出|显示|打印|泄露|重复|是什么|複述|输出)|(?:告诉我|输出|显示|打印|重复"
    r"|泄露)[^。\n]{0,10}(?:系统提示词|系统提示|初始指令|系統提示)",
    r"(?:これまで|以前|上記|前|今まで)の?[^。\n]{0,10}(?:指示|命令|ルール|プロンプト|制約)[^。\n]{0,10}(?:無視|忘れ|破棄|従わ)",
    r"(?:あなたは今から|今からあなたは|これからあなたは)",
    r"(?:이전|위의|지금까지의|기존|모든)[^.\n]{0,12}(?:지시|명령|규칙|프롬프트|지침)[^.\n]{0,12}(?:무시|잊어|따르지)",
    # Arabic, Persian, Hebrew, Hindi
    r"(?:تجاهل|انس|تجاوز)[^.\n]{0,30}(?:التعليمات|الأوامر|القواعد|السابقة|تعليمات)",
    r"(?:دستور|دستورالعمل|قوانین)[^.\n]{0,30}(?:نادیده|فراموش)|(?:نادیده بگیر|فراموش کن)[^.\n]{0,30}(?:دستور"
    r"|قبلی)",
    r"(?:התעלם|התעלמי|התעלמו|שכח|שכחי)[^.\n]{0,30}(?:הוראות|ההוראות|הנחיות|כללים|הקודמות)",
    r"(?:पिछले|पिछली|उपरोक्त|सभी)[^।\n]{0,20}(?:निर्देश|आदेश|नियम)[^।\n]{0,20}(?:अनदेखा|नज़रअंदाज़|भूल"
    r"|उपेक्षा)",
    # Vietnamese, Indonesian
    r"\b(?:bỏ qua|phớt lờ|quên)\b[^.\n]{0,40}(?:hướng dẫn|chỉ dẫn|lệnh|quy tắc|trước đó)",
    r"\b(?:abaikan|lupakan)\b[^.\n]{0,40}\b(?:instruksi|perintah|aturan|sebelumnya|petunjuk)[a-z]*",
)
