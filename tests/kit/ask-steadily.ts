import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** Answers' times in milliseconds, asked for by a thread of its own, so that what the test does meanwhile is not measured along. */
export interface SteadyAsking extends AsyncDisposable {
  /** What took how long since the last call. */
  take(): Promise<number[]>
}

export interface SteadyQuestion {
  path?: string
  headers?: Record<string, string>
}

/** One request after another, each 2 ms after the last one's end; one that is not a 200 counts as for ever. */
export function askSteadily(url: string, host: string, { path = '/', headers = {} }: SteadyQuestion = {}): SteadyAsking {
  const thread = new Worker(program, { eval: true, workerData: { url, path, headers: { ...headers, host } } })
  return {
    async take() {
      const answer = once(thread, 'message') as Promise<[number[]]>
      thread.postMessage('take')
      return (await answer)[0]
    },
    async [Symbol.asyncDispose]() {
      await thread.terminate()
    },
  }
}

const program = `
const { request, Agent } = require('node:http')
const { parentPort, workerData: { url, path, headers } } = require('node:worker_threads')
const { hostname, port } = new URL(url)
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
let tookMs = []
parentPort.on('message', () => { parentPort.postMessage(tookMs); tookMs = [] })
const ask = () => {
  const begun = performance.now()
  const end = (took) => { tookMs.push(took); setTimeout(ask, 2) }
  request({ hostname, port, path, headers, agent }, (response) => {
    response.resume().on('end', () => end(response.statusCode === 200 ? performance.now() - begun : Infinity))
  }).on('error', () => end(Infinity)).end()
}
ask()
`
