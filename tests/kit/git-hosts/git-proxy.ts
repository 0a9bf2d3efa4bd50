import { execFile } from 'node:child_process'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import type { GitServer } from '../git-server.ts'

const run = promisify(execFile)

/** A request of a git client, with the token that it sent. */
export interface GitCall {
  repository: string
  service: 'upload-pack' | 'receive-pack'
  token: string
}

/** A branch that a push has created or moved. */
export interface BranchUpdate {
  repository: string
  branch: string
  before: string
  commit: string
  message: string
  author: string
}

export interface ForwardGitOptions {
  git: GitServer
  validTokens: ReadonlySet<string>
  /** Awaited before git gets its response. */
  onCall(call: GitCall): Promise<void>
  /** Called with an invalid token, or '' without one. */
  onRejectedToken(token: string): void
  /** Called once the response of a push was sent. */
  onUpdate(update: BranchUpdate): void
}

export const isForGit = (pathname: string) => /\.git\/(info\/refs|git-(upload|receive)-pack)$/.test(pathname)

/**
 * Forwards a request of a git client to the real git server, which accepts every request, after checking the token here. Git sends
 * the token as a password.
 */
export async function forwardGit(request: IncomingMessage, response: ServerResponse, options: ForwardGitOptions): Promise<void> {
  const { git, validTokens, onCall, onRejectedToken, onUpdate } = options
  const [, encoded = ''] = (request.headers.authorization ?? '').split(' ')
  const token = Buffer.from(encoded, 'base64').toString().split(':')[1] ?? ''
  if (!validTokens.has(token)) {
    onRejectedToken(token)
    response.writeHead(401, { 'www-authenticate': 'Basic realm="GitHub"' }).end()
    return
  }
  const [, repository = '', path = ''] = /^\/(.+)\.git\/(.*)$/.exec(request.url!) ?? []
  const isPush = request.method === 'POST' && path === 'git-receive-pack'
  await onCall({ repository, service: path.includes('receive-pack') ? 'receive-pack' : 'upload-pack', token })
  const before = isPush ? await branchesOf(git.folderOf(repository)) : null
  const { host: _, connection: __, authorization: ___, 'transfer-encoding': ____, ...headers } = request.headers
  const body = request.method === 'GET' ? undefined : Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>))
  const answer = await fetch(`${git.url}${request.url}`, {
    method: request.method!,
    headers: headers as Record<string, string>,
    ...(body ? { body } : {}),
  })
  response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
  response.end(Buffer.from(await answer.arrayBuffer()))
  if (before) for (const update of await updatesSince(before, repository, git)) onUpdate(update)
}

async function branchesOf(folder: string): Promise<Map<string, string>> {
  const { stdout } = await run('git', ['-C', folder, 'for-each-ref', '--format=%(objectname) %(refname:short)', 'refs/heads/'])
  return new Map(
    stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => [line.slice(line.indexOf(' ') + 1), line.slice(0, line.indexOf(' '))]),
  )
}

async function updatesSince(before: ReadonlyMap<string, string>, repository: string, git: GitServer): Promise<BranchUpdate[]> {
  const folder = git.folderOf(repository)
  const changed = [...(await branchesOf(folder))].filter(([branch, commit]) => before.get(branch) !== commit)
  return Promise.all(
    changed.map(async ([branch, commit]) => {
      const { stdout } = await run('git', ['-C', folder, 'log', '-1', '--format=%an%n%B', commit])
      const [author = '', ...message] = stdout.trim().split('\n')
      return { repository, branch, commit, author, message: message.join('\n'), before: before.get(branch) ?? '0'.repeat(40) }
    }),
  )
}
