// Listing 1,000 repositories: one pass over the host's pages, then from cache. Prints both times and their ratio, and fails below 20.
// node bench/git-host-list.ts

import { createGitHub } from '../packages/server/src/drivers/git-host/github/github.ts'
import { withKeptLists } from '../packages/server/src/drivers/git-host/kept-lists.ts'
import { Secret } from '../packages/server/src/platform/secrets/secret.ts'
import { startGitHubHost, tokens } from '../tests/kit/git-hosts/github-host.ts'

const repositories = 1_000
const leastRatio = 20

const server = await startGitHubHost()
for (let at = 0; at < repositories; at += 1) {
  const name = `repository-${at}`
  const owner = { login: 'ann' }
  server.repositories.set(`ann/${name}`, {
    id: 10_000 + at,
    name,
    full_name: `ann/${name}`,
    owner,
    private: true,
    default_branch: 'main',
  } as never)
}
let now = Date.now()
const none = { appId: null, privateKey: null, appSlug: null, clientId: null, clientSecret: null }
const host = withKeptLists(createGitHub({ apiUrl: server.url, webUrl: server.url, ...none }), () => now)
const access = { kind: 'token', id: 'ann', token: new Secret(tokens.ann) } as const
await host.account(access) // Octokit is loaded.

const timed = async () => {
  const [start, calls] = [performance.now(), server.calls.length]
  const { length } = await host.repositories(access)
  if (length !== repositories) throw new Error(`${length} repositories were listed`)
  return { ms: performance.now() - start, calls: server.calls.slice(calls) }
}
const first = await timed()
const second = await timed()
now += 60_000
const revalidated = await timed()
const notModified = revalidated.calls.length
console.log(
  `first ${first.ms.toFixed(1)} ms (${first.calls.length} pages), second ${second.ms.toFixed(3)} ms (${second.calls.length}), a minute later ${revalidated.ms.toFixed(1)} ms (${notModified} conditional)`,
)
const ratio = first.ms / second.ms
console.log(`second call ${ratio.toFixed(0)} times as fast (least: ${leastRatio})`)
await server.close()
process.exit(ratio >= leastRatio ? 0 : 1)
