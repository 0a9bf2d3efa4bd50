import { Client, type ElicitResult, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

/** The two revisions of the protocol: clients of the older one send `initialize`. */
export const revisions = { '2026-07-28': { pin: '2026-07-28' }, '2025-11-25': 'legacy' } as const
export type Revision = keyof typeof revisions

export interface McpOptions {
  revision?: Revision
  /** Answers the server's elicitations; without it, the client does not support them. */
  onQuestion?: (message: string) => ElicitResult
  /** The query of the address. */
  query?: string
}

/** The client of the official SDK. */
export async function connectMcp(url: string, token: string, options: McpOptions = {}): Promise<Client> {
  const { revision = '2026-07-28', onQuestion, query = '' } = options
  const client = new Client(
    { name: 'test', version: '1' },
    {
      capabilities: onQuestion ? { elicitation: {} } : {},
      versionNegotiation: { mode: revisions[revision] },
    },
  )
  if (onQuestion) client.setRequestHandler('elicitation/create', ({ params }) => onQuestion(params.message))
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/api/mcp${query}`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  })
  await client.connect(transport)
  return client
}

export interface ToolAnswer {
  text: string
  isError: boolean
  status: number | undefined
  /** The JSON of the route's response. */
  json(): Record<string, unknown>
}

type Progress = (progress: { progress: number; message?: string }) => void

export async function callTool(client: Client, name: string, given: object = {}, onprogress?: Progress): Promise<ToolAnswer> {
  const called = await client.callTool(
    { name, arguments: given as Record<string, unknown> },
    onprogress ? { onprogress } : undefined,
  )
  const [content] = called.content as unknown as [{ text: string }]
  const { httpStatus } = (called._meta ?? {}) as { httpStatus?: number }
  return {
    text: content.text,
    isError: called.isError === true,
    status: httpStatus,
    json: () => JSON.parse(dataIn(content.text)) as Record<string, unknown>,
  }
}

/** Returns the data of a result: the text between its `--- data` and `--- end of data` lines. */
export const dataIn = (text: string): string => /^--- data (\w+)\n([\s\S]*)\n--- end of data \1$/m.exec(text)?.[2] ?? text
