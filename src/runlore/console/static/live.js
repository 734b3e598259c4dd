// How much waits, as it changes. One page of a browser listens and tells the others: the daemon has so many streams,
// and a browser six connections to a host.

import { follow } from "./api.js";

const NAME = "runlore-live";
const PAUSE_MS_MIN = 1_000;
const PAUSE_MS_MAX = 15_000;

/** Call `heard` with the counts whenever they are others; the answer stops it. */
export function listen(heard) {
  const stopping = new AbortController();
  const { signal } = stopping;
  const others = new BroadcastChannel(NAME);
  others.onmessage = ({ data }) => heard(data);
  const tell = ({ data }) => { heard(data); others.postMessage(data); };
  // Whoever waits for the lock goes on where the page that had it is closed, or stops.
  navigator.locks?.request(NAME, { signal }, () => stay(tell, signal)).catch(() => {});
  return () => { stopping.abort(); others.close(); };
}

async function stay(tell, signal) {
  for (let pause = PAUSE_MS_MIN; !signal.aborted; pause = Math.min(2 * pause, PAUSE_MS_MAX)) {
    const began = Date.now();
    try {
      await follow("/v1/inbox", {}, tell, signal);
    } catch (problem) {
      if (signal.aborted || problem.status === 401) return;
    }
    if (Date.now() - began > PAUSE_MS_MAX) pause = PAUSE_MS_MIN;
    await new Promise((done) => { setTimeout(done, pause); signal.addEventListener("abort", done, { once: true }); });
  }
}
