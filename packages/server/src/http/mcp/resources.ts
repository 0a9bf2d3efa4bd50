import { type AnyRoute, contract } from '@berth/contract'
import { pathOf } from '@berth/contract/client'
import { callAs, type McpCall } from './call.ts'
import { RpcError, rpcErrors } from './json-rpc.ts'
import { asData, shortened } from './untrusted-text.ts'

interface ResourceKind {
  /** A URI template; `{id}` names the object. */
  uri: string
  name: string
  row: AnyRoute
}

const kinds: readonly ResourceKind[] = [
  { uri: 'berth://projects/{id}', name: 'Project', row: contract.projects.get },
  { uri: 'berth://projects/{id}/logs', name: 'Runtime logs of a project', row: contract.projects.logs },
  { uri: 'berth://deployments/{id}', name: 'Deployment with its steps', row: contract.deployments.get },
  { uri: 'berth://deployments/{id}/logs', name: 'Log of a deployment', row: contract.deployments.logs },
]

const mimeType = 'text/plain'
const maxListed = 50

export const resourceTemplates = kinds.map(({ uri, name, row }) => ({
  uriTemplate: uri,
  name,
  description: row.summary,
  mimeType,
}))

interface Listed {
  data: { id: string; name?: string; number?: number; projectId?: string; status?: string }[]
}

/** The logs of the newest projects and deployments that the token may list. */
export async function listResources(call: McpCall): Promise<object[]> {
  const projects = await listed(call, contract.projects.list)
  const deployments = await listed(call, contract.deployments.list)
  return [
    ...projects.map(({ id, name }) => resource(`berth://projects/${id}/logs`, `Runtime logs of ${name}`)),
    ...deployments.map(({ id, number, status }) =>
      resource(`berth://deployments/${id}/logs`, `Log of deployment ${number} (${status})`),
    ),
  ]
}

const resource = (uri: string, name: string) => ({ uri, name: shortened(name, 120), mimeType })

async function listed(call: McpCall, row: AnyRoute): Promise<Listed['data']> {
  const path = pathOf(row, {}, { limit: maxListed })
  const { error, text } = await callAs(call, { row, params: {}, path, body: undefined, own: {} })
  return error ? [] : (JSON.parse(text) as Listed).data
}

/** Reads a resource through its row's route. */
export async function readResource(call: McpCall, uri: unknown): Promise<object> {
  const [, start, id, end = ''] = /^berth:\/\/(projects|deployments)\/([\w%.-]{1,100}?)(\/logs)?$/.exec(String(uri)) ?? []
  const kind = kinds.find((known) => known.uri === `berth://${start}/{id}${end}`)
  if (!kind || !id || /^\.+$/.test(id)) throw notFound(call, uri)
  const params = { id }
  const { error, text, status } = await callAs(call, {
    row: kind.row,
    params,
    path: pathOf(kind.row, params),
    body: undefined,
    own: {},
  })
  if (error) throw notFound(call, uri, { httpStatus: status, errorCode: error.code })
  return { contents: [{ uri, mimeType, text: asData(text) }] }
}

const notFound = ({ dialect }: McpCall, uri: unknown, data: object = {}): RpcError =>
  new RpcError(
    dialect.isStateless ? rpcErrors.invalidParams : rpcErrors.resourceNotFound,
    `The resource ${shortened(String(uri), 200)} does not exist, or this token may not read it`,
    { data: { uri, ...data } },
  )
