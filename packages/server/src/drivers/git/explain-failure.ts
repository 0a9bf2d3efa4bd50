import { GitAuthFailed, type GitError, GitFailed, GitNotFound, GitUnreachable } from './git-errors.ts'
import type { RemoteAddress } from './remote.ts'

/** Maps git's and ssh's output to an error. They print English (LC_ALL=C); only the output distinguishes their failures. */
export function explainFailure(message: string, remote: RemoteAddress, hasCredential: boolean): GitError {
  const { shown, host, url } = remote
  const detail = lastLines(message)
  // The URL is removed, since a repository may be called openssl or not-found.
  const output = message.replaceAll(url, 'URL')
  if (refMissing.test(output)) return new GitNotFound('branch', `${shown} has no such branch`, detail)
  if (commitMissing.test(output)) return new GitNotFound('commit', `${shown} has no such commit`, detail)
  if (authFailed.test(output)) return new GitAuthFailed(authMessage(remote, hasCredential), detail)
  if (repositoryMissing.test(output)) {
    const otherCause = hasCredential ? ', or the credential has no access to it' : ', or it is private and needs a credential'
    return new GitNotFound('repository', `Repository ${shown} does not exist${otherCause}`, detail)
  }
  const [, status] = /returned error: ([35]\d\d)/.exec(output) ?? []
  if (status?.startsWith('3')) {
    return new GitUnreachable(`${shown} redirects (${status}). Enter the URL that it redirects to; it often ends in .git`, detail)
  }
  if (status) return new GitUnreachable(`${host} answered with the error ${status}`, detail)
  for (const [pattern, text] of unreachable) if (pattern.test(output)) return new GitUnreachable(`${host} ${text}`, detail)
  return new GitFailed(`git failed with ${shown}: ${detail}`, detail)
}

const refMissing = /couldn't find remote ref|remote branch .* not found/i
const commitMissing = /not our ref|no such remote ref [0-9a-f]{40}|unadvertised object/i
const authFailed =
  /authentication failed|could not read (username|password)|terminal prompts disabled|returned error: (401|403)|permission denied \(|invalid (username|credentials)|access denied|load key .*invalid format|too many authentication failures/i
const repositoryMissing =
  /repository .*not found|returned error: 404|does not appear to be a git repository|repository does not exist|not valid: is this a git repository|project you were looking for could not be found/i

const unreachable: readonly (readonly [RegExp, string])[] = [
  [
    /could not resolve host|name or service not known|temporary failure in name resolution|no address associated/i,
    'is an unknown host name',
  ],
  [/timed out|operation too slow/i, 'timed out'],
  [/connection refused|couldn't connect|failed to connect/i, 'refused the connection: nothing listens on that port'],
  [/certificate|SSL|TLS|gnutls/i, 'has an untrusted TLS certificate, or does not support TLS'],
  [/no route to host|network is unreachable/i, 'is unreachable'],
  [
    /unable to access|connection (reset|closed)|early eof|hung up|unexpected disconnect|rpc failed|empty reply|could not read from remote/i,
    'is unreachable, or closed the connection',
  ],
]

function authMessage({ scheme, shown }: RemoteAddress, hasCredential: boolean): string {
  const credentialName = scheme === 'ssh' ? 'SSH key' : 'token'
  return hasCredential
    ? `${shown} rejected the ${credentialName}: it is wrong, has expired, or has no read access to the repository`
    : `${shown} needs a ${credentialName}: it is private, or it does not exist`
}

/** The last lines of the output, without progress meters and ssh's banner of at signs. */
function lastLines(output: string): string {
  const lines = output.split('\n').map((line) => line.trimEnd().split('\r').at(-1)?.trim() ?? '')
  return lines
    .filter((line) => line !== '' && !/^@+$/.test(line))
    .slice(-5)
    .join('\n')
    .slice(0, 1_000)
}
