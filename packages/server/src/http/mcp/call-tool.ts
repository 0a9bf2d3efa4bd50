import { Failure } from '../../platform/failure.ts'
import { requestOf } from './arguments.ts'
import { callAs, type McpCall } from './call.ts'
import { confirmCall, type GivenAnswer, type InputRequired } from './confirm-call.ts'
import { callToolName, findTools, findToolsName, innerCall } from './find-tools.ts'
import { defaultStreamSeconds, maxStreamSeconds } from './input-schema.ts'
import { isObject, RpcError, rpcErrors } from './json-rpc.ts'
import { answerResult, errorResult, type ToolResult } from './tool-result.ts'
import { type RowTool, rowTools } from './tools.ts'
import { shortened } from './untrusted-text.ts'

/** Streams that one user may read at once by tool calls. */
const maxStreams = 8
const streams = new Map<string, number>()

/** Answers `tools/call`. */
export async function callTool(call: McpCall, params: Record<string, unknown>): Promise<ToolResult | InputRequired> {
  const { name, arguments: given } = params.name === callToolName ? innerCall(argumentsIn(params)) : params
  const values = argumentsIn({ arguments: given })
  if (name === findToolsName) return findTools(call, values)
  const tool = rowTools(call.mount.mode).get(String(name))
  if (!tool) throw new RpcError(rpcErrors.invalidParams, `Unknown tool: ${shortened(String(name), 100)}`)
  try {
    return await callRowTool(call, tool, values, params)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return answerResult({ status: error.status, text: JSON.stringify(error.body()), error: error.body() })
  }
}

function argumentsIn({ arguments: given = {} }: Record<string, unknown>): Record<string, unknown> {
  if (!isObject(given)) throw new RpcError(rpcErrors.invalidParams, 'arguments: must be an object')
  return given
}

async function callRowTool(
  call: McpCall,
  tool: RowTool,
  given: Record<string, unknown>,
  answer: GivenAnswer,
): Promise<ToolResult | InputRequired> {
  const request = requestOf(tool, given)
  const unconfirmed = await confirmCall(call, tool, request, answer)
  if (unconfirmed) return 'text' in unconfirmed ? answerResult(unconfirmed) : unconfirmed
  if (!tool.row.stream) return answerResult(await callAs(call, request))
  const { userId } = call.caller
  const count = streams.get(userId) ?? 0
  if (count >= maxStreams) return errorResult(`${maxStreams} streams are open already. Wait until one of them ends.`)
  streams.set(userId, count + 1)
  call.openStream()
  try {
    return answerResult(await callAs(call, request, streamOptions(call, request.own)))
  } finally {
    const left = (streams.get(userId) ?? 1) - 1
    if (left > 0) streams.set(userId, left)
    else streams.delete(userId)
  }
}

function streamOptions(
  { send, progressToken }: McpCall,
  { maxSeconds, lastEventId }: { maxSeconds?: unknown; lastEventId?: unknown },
) {
  const seconds = Math.min(Math.max(Number(maxSeconds ?? defaultStreamSeconds) || defaultStreamSeconds, 1), maxStreamSeconds)
  return {
    maxSeconds: seconds,
    ...(typeof lastEventId === 'string' ? { lastEventId: lastEventId.replace(/[^\x21-\x7e]/g, '').slice(0, 200) } : {}),
    ...(send && progressToken !== undefined ? { onEvent: reportTo(send, progressToken) } : {}),
  }
}

/** Sends each event as progress. Clients show the message to their user; it is data too. */
const reportTo =
  (send: (message: object) => Promise<void>, progressToken: string | number) =>
  ({ event, data }: { event: string; data: string }, count: number): Promise<void> =>
    send({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken, progress: count, message: shortened(`${event} ${data}`, 500) },
    })
