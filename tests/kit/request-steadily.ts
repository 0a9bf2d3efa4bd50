import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** Measures response times in milliseconds in a separate thread, so that the test's own work is not included. */
export interface SteadyRequests extends AsyncDisposable {
  /** The response times since the last call. */
  take(): Promise<number[]>
}

export interface SteadyRequest {
  path?: string
  headers?: Record<string, string>
  /** Time from the end of a request to the start of the next; default 2 ms. */
  pauseMs?: number
}

/** Sends one request after another; a response other than 200 counts as infinite. */
export function requestSteadily(
  url: string,
  host: string,
  { path = '/', headers = {}, pauseMs = 2 }: SteadyRequest = {},
): SteadyRequests {
  const thread = new Worker(program, { eval: true, workerData: { url, path, headers: { ...headers, host }, pauseMs } })
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
const { parentPort, workerData: { url, path, headers, pauseMs } } = require('node:worker_threads')
const { hostname, port } = new URL(url)
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
let tookMs = []
parentPort.on('message', () => { parentPort.postMessage(tookMs); tookMs = [] })
const send = () => {
  const begun = performance.now()
  const end = (took) => { tookMs.push(took); setTimeout(send, pauseMs) }
  request({ hostname, port, path, headers, agent }, (response) => {
    response.resume().on('end', () => end(response.statusCode === 200 ? performance.now() - begun : Infinity))
  }).on('error', () => end(Infinity)).end()
}
send()
`
