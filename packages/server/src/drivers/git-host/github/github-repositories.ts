import { invalidResponse } from '../answer-parts.ts'
import { noneIfEmpty } from '../empty-repository.ts'
import type { RepositoryCalls } from '../git-host.ts'
import { GitHostError } from '../git-host-error.ts'
import { maxFileBytes, refuseLarge } from '../large-file.ts'
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
      client.request(access, limits, async (octokit, signal) =>
        accountFrom((await octokit.request('GET /user', { request: { signal } })).data, title),
      ),
    repositories: (access, limits) =>
      client.request(access, limits, (octokit, signal) => {
        const reading = { octokit, signal, pages, credentialId: access.id, title }
        return access.kind === 'installation'
          ? readList({ route: 'GET /installation/repositories', parameters: {}, under: 'repositories', from }, reading)
          : readList({ ...readableList, from }, reading)
      }),
    repositoriesOf: (access, owner, limits) =>
      client.request(access, limits, async (octokit, signal) => {
        const { data } = await octokit.request('GET /users/{owner}', { owner, request: { signal } })
        const reading = { octokit, signal, pages, credentialId: access.id, title }
        if (accountFrom(data, title).type === 'organization')
          return readList({ route: 'GET /orgs/{owner}/repos', parameters: { owner }, from }, reading)
        // The list of a user contains public repositories only; private ones are in the list of the access.
        const [publicRepositories, readable] = await Promise.all([
          readList({ route: 'GET /users/{owner}/repos', parameters: { owner }, from }, reading),
          access.kind === 'installation' ? [] : readList({ ...readableList, from }, reading),
        ])
        const own = readable.filter((one) => one.owner.toLowerCase() === owner.toLowerCase())
        return [...new Map([...publicRepositories, ...own].map((one) => [one.id, one])).values()]
      }),
    repository: (access, { owner, repo }, limits) =>
      client.request(access, limits, async (octokit, signal) =>
        from((await octokit.rest.repos.get({ owner, repo, request: { signal } })).data),
      ),
    createRepository: (access, { name, owner, private: isPrivate }, limits) =>
      client.request(access, limits, async (octokit, signal) => {
        const settings = { name, private: isPrivate, request: { signal } }
        const { data } = owner
          ? await octokit.rest.repos.createInOrg({ ...settings, org: owner })
          : await octokit.rest.repos.createForAuthenticatedUser(settings)
        return from(data)
      }),
    deleteRepository: (access, { owner, repo }, limits) =>
      client.request(access, limits, async (octokit, signal) => {
        await octokit.rest.repos.delete({ owner, repo, request: { signal } })
      }),
    branches: (access, { owner, repo }, limits) =>
      noneIfEmpty(
        client.request(access, limits, (octokit, signal) =>
          readList(
            {
              route: 'GET /repos/{owner}/{repo}/branches',
              parameters: { owner, repo },
              from: (value) => branchFrom(value, title),
            },
            { octokit, signal, pages, credentialId: access.id, title },
          ),
        ),
      ),
    files: (access, name, { path, branch }, limits) => {
      const listed = client.request(access, limits, async (octokit, signal) => {
        const { data } = await octokit.rest.repos.getContent({ ...name, path, ...refOf(branch), request: { signal } })
        if (!Array.isArray(data)) throw new GitHostError('not_found', `${path} is a file, not a folder`)
        return data.map((value) => entryFrom(value, title))
      })
      return path === '' && !branch ? noneIfEmpty(listed) : listed
    },
    file: (access, name, { path, branch }, limits) =>
      client.request(access, limits, async (octokit, signal) => {
        const { data } = await octokit.rest.repos.getContent({ ...name, path, ...refOf(branch), request: { signal } })
        const found = fileFrom(data, path, title)
        const text = found.text ?? (await blob(found.sha))
        return { path: found.path, sizeBytes: found.sizeBytes, text, branch: branch ?? (await defaultBranch()) }
        async function blob(sha: string) {
          const { data } = await octokit.rest.git.getBlob({ ...name, file_sha: sha, request: { signal } })
          const fields = new Fields(data)
          const content = fields.text('content')
          if (content === null || fields.text('encoding') !== 'base64') return invalidResponse(title, 'a file')
          return Buffer.from(content, 'base64').toString('utf8')
        }
        async function defaultBranch() {
          return from((await octokit.rest.repos.get({ ...name, request: { signal } })).data).defaultBranch ?? ''
        }
      }),
  }
}

/** The list of every repository that a token can read. */
const readableList = { route: 'GET /user/repos', parameters: { sort: 'pushed' } }

const refOf = (branch: string | undefined) => (branch ? { ref: branch } : {})

/** GitHub returns up to 1 MB in the response itself; the content of a larger file is null here and is read as a blob. */
function fileFrom(data: unknown, path: string, title: string) {
  const fields = new Fields(data)
  if (Array.isArray(data) || fields.text('type') !== 'file') throw new GitHostError('not_found', `${path} is not a file`)
  const [content, sizeBytes, sha] = [fields.text('content'), fields.integer('size'), fields.text('sha') ?? '']
  if (sizeBytes === null) return invalidResponse(title, 'a file')
  if (sizeBytes > maxFileBytes) return refuseLarge(path)
  const isWhole = content !== null && fields.text('encoding') === 'base64' && (content !== '' || sizeBytes === 0)
  if (!isWhole && !/^[0-9a-f]{40,64}$/.test(sha)) return invalidResponse(title, 'a file')
  const text = isWhole ? Buffer.from(content, 'base64').toString('utf8') : null
  return { path: fields.text('path') ?? path, sizeBytes, sha, text }
}
