"""Chinese, simplified and traditional where they differ in a table's words."""

from runlore.domain.languages.language import Cue, Language, Opening

CHINESE = Language(
    name="zh",
    is_spaced=False,
    lead_ins="好的, 好, 嗯, 那, 然后, 对, 是的, 另外, 还有",
    tags="吗, 吧, 对吧, 对不对",
    contrasts="不用, 不是, 而不是, 不要",
    openings={
        Opening.COMMAND: "请, 用, 使用, 不要, 别, 记住, 确保, 保持, 每, 所有, 总是, 永远, 以后, 避免, 先",
        Opening.PROHIBITION: "不要, 别, 请不要, 请别, 禁止, 避免, 永远不要",
        Opening.QUESTION: "为什么, 怎么, 如何, 什么, 哪, 是不是, 是否, 你能, 能不能, 可不可以, 有没有",
    },
    cues={
        Cue.RULE: """
            总是, 永远, 从不, 从现在开始, 从今以后, 以后, 每次, 每当, 一律, 一定要, 默认, 今后, 绝不, 始终
            從現在開始, 總是, 永遠, 從不, 以後
        """,
        Cue.REMINDER: "记住, 记得, 别忘了, 不要忘, 请注意, 牢记, 記住, 記得, 別忘了",
        Cue.PREFERENCE: "更喜欢, 喜欢, 偏好, 倾向于, 更倾向, 喜歡, 最好",
        Cue.WISH: "我想要, 我希望, 我要, 我们希望, 想让你",
        Cue.EVERY: "每个, 每次, 所有, 全部, 各个, 都要, 每個, 任何",
        Cue.CARE: "确保, 务必, 保证, 確保, 務必",
        Cue.PROHIBITION: "不要, 别再, 不要再, 禁止, 不准, 避免, 不用, 从不, 不能, 不得",
        Cue.REPLACEMENT: "代替, 而不是, 不用~用, 而非, 改用, 取代",
        Cue.LIMIT: "只能, 只用, 最多, 至少, 仅, 尽量",
        Cue.PRACTICE: "我们用, 我们这里用, 我们使用, 我们从不, 我们有, 我们的约定, 我们都, 我們用",
        Cue.FACT: "改名, 现在叫, 叫做, 是只读的, 已经迁移, 已经改, 位于",
        Cue.OBLIGATION: "必须, 应该, 需要, 得, 要求, 必須, 應該, 要保持, 都要",
        Cue.CORRECTION: "不对, 错了, 不正确, 我没说, 我没有说",
        Cue.REASON: "因为, 否则, 以便, 这样",
        Cue.ORDER: "之前先, 先~再, 之前, 每次~之后",
        Cue.WORKFLOW: """
            提交, 分支, 测试, 文档, 审查, 评审, 格式化, 注释, 变量名, 函数, 导入, 图表, 日志, 接口, 合并
            发布, 中文, 缩进, 文件, pr, ci, 模拟
        """,
        Cue.REQUEST: "请, 麻烦, 能否, 可以~吗, 你能~吗",
        Cue.MOMENTARY: "暂时, 这次, 目前, 先不要, 先别, 还不要, 这一次, 眼下, 暫時, 這次",
        Cue.POINTING: "这个文件, 那个文件, 这个分支, 第~行, 第三, 第二",
        Cue.ERRAND: "记得去, 记得买, 别忘了去, 别忘了买, 提醒我",
        Cue.ONE_THING: "第一个, 第二个, 另一个, 别担心, 不用担心",
        Cue.HEDGE: "也许, 可能, 我觉得, 大概, 或许, 我猜, 好像",
        Cue.STORY: "昨天, 刚才, 试过, 崩溃了, 失败了, 只好, 抱歉, 一直没有",
        Cue.PLACE: "这个项目, 本项目, 我们这里, 这个仓库, 這個專案",
        Cue.PERSON: "我, 我们, 你, 您, 请, 咱们, 我們",
        Cue.HYPOTHESIS: "如果我们, 假如, 假设, 要是, 会怎样",
    },
)
