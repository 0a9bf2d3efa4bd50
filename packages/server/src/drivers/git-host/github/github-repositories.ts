import { nonsense } from '../answer-parts.ts'
import type { HostFile, RepositoryCalls } from '../git-host.ts'
import { GitHostError } from '../git-host-error.ts'
import { Fields } from '../payload.ts'
import type { GitHubClient } from './github-client.ts'
import { readList } from './github-lists.ts'
import { accountFrom, branchFrom, entryFrom, repositoryFrom } from './github-shapes.ts'

export function createRepositories(client: GitHubClient): RepositoryCalls {
  const { title, pages } = client
  const { webUrl } = client.settings
  const from = (value: unknown) => repositoryFrom(value, title, webUrl)
  return {
    account: (access, limits) =>
      client.ask(access, limits, async (octokit, signal) =>
        accountFrom((await octokit.request('GET /user', { request: { signal } })).data, title),
      ),
    repositories: (access, limits) =>
      client.ask(access, limits, (octokit, signal) => {
        const reading = { octokit, signal, pages, accessId: access.id, title }
        return access.kind === 'installation'
          ? readList({ route: 'GET /installation/repositories', parameters: {}, under: 'repositories', from }, reading)
          : readList({ route: 'GET /user/repos', parameters: { sort: 'pushed' }, from }, reading)
      }),
    repositoriesOf: (access, owner, limits) =>
      client.ask(access, limits, async (octokit, signal) => {
        const { data } = await octokit.request('GET /users/{owner}', { owner, request: { signal } })
        const isOrganization = accountFrom(data, title).type === 'organization'
        const route = isOrganization ? 'GET /orgs/{owner}/repos' : 'GET /users/{owner}/repos'
        return readList({ route, parameters: { owner }, from }, { octokit, signal, pages, accessId: access.id, title })
      }),
    repository: (access, { owner, repo }, limits) =>
      client.ask(access, limits, async (octokit, signal) =>
        from((await octokit.rest.repos.get({ owner, repo, request: { signal } })).data),
      ),
    createRepository: (access, { name, owner, private: isPrivate }, limits) =>
      client.ask(access, limits, async (octokit, signal) => {
        const settings = { name, private: isPrivate, request: { signal } }
        const { data } = owner
          ? await octokit.rest.repos.createInOrg({ ...settings, org: owner })
          : await octokit.rest.repos.createForAuthenticatedUser(settings)
        return from(data)
      }),
    deleteRepository: (access, { owner, repo }, limits) =>
      client.ask(access, limits, async (octokit, signal) => {
        await octokit.rest.repos.delete({ owner, repo, request: { signal } })
      }),
    branches: (access, { owner, repo }, limits) =>
      client.ask(access, limits, (octokit, signal) =>
        readList(
          { route: 'GET /repos/{owner}/{repo}/branches', parameters: { owner, repo }, from: (value) => branchFrom(value, title) },
          { octokit, signal, pages, accessId: access.id, title },
        ),
      ),
    files: (access, name, { path, branch }, limits) =>
      client.ask(access, limits, async (octokit, signal) => {
        const { data } = await octokit.rest.repos.getContent({ ...name, path, ...refOf(branch), request: { signal } })
        if (!Array.isArray(data)) throw new GitHostError('not_found', `${path} is a file, not a folder`)
        return data.map((value) => entryFrom(value, title))
      }),
    file: (access, name, { path, branch }, limits) =>
      client.ask(access, limits, async (octokit, signal) => {
        const { data } = await octokit.rest.repos.getContent({ ...name, path, ...refOf(branch), request: { signal } })
        return { ...fileFrom(data, path, title), branch: branch ?? (await defaultBranch()) }
        async function defaultBranch() {
          return from((await octokit.rest.repos.get({ ...name, request: { signal } })).data).defaultBranch ?? ''
        }
      }),
  }
}

const refOf = (branch: string | undefined) => (branch ? { ref: branch } : {})

/** GitHub gives up to 1 MB in the answer itself, and that is enough for the files that people look at here. */
function fileFrom(data: unknown, path: string, title: string): Omit<HostFile, 'branch'> {
  const fields = new Fields(data)
  if (Array.isArray(data) || fields.text('type') !== 'file') throw new GitHostError('not_found', `${path} is not a file`)
  const [content, sizeBytes] = [fields.text('content'), fields.whole('size')]
  if (content === null || sizeBytes === null) return nonsense(title, 'a file')
  if (fields.text('encoding') !== 'base64') throw new GitHostError('refused', `${path} is larger than 1 MB`)
  return { path: fields.text('path') ?? path, sizeBytes, text: Buffer.from(content, 'base64').toString('utf8') }
}
