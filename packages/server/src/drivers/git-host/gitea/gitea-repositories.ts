import { nonsense } from '../answer-parts.ts'
import type { HostBranch, HostRepository, RepositoryCalls } from '../git-host.ts'
import { GitHostError } from '../git-host-error.ts'
import { entryFrom, branchFrom as githubBranch } from '../github/github-shapes.ts'
import { Fields } from '../payload.ts'
import type { RestClient } from '../rest-client.ts'
import { repositoryPath } from './repository-path.ts'

/** Its repositories and contents are as GitHub's; a branch's commit has another name. */
export function createRepositories(
  client: RestClient,
  from: (value: unknown) => HostRepository,
): Omit<RepositoryCalls, 'account'> {
  const { title } = client
  const contents = (path: string) => `/contents/${path.split('/').map(encodeURIComponent).join('/')}`.replace(/\/$/, '')
  return {
    repositories: (access, limits) => client.ask(access, limits, (call) => call.list({ path: '/user/repos', from })),
    repositoriesOf: (access, owner, limits) =>
      client.ask(access, limits, (call) => {
        const name = encodeURIComponent(owner)
        return call.list({ path: `/orgs/${name}/repos`, from }).catch((error: unknown) => {
          if (error instanceof GitHostError && error.trouble === 'not_found')
            return call.list({ path: `/users/${name}/repos`, from })
          throw error
        })
      }),
    repository: (access, name, limits) => client.ask(access, limits, async (call) => from(await call.get(repositoryPath(name)))),
    createRepository: (access, { name, owner, private: isPrivate }, limits) =>
      client.ask(access, limits, async (call) =>
        from(
          await call.send('POST', owner ? `/orgs/${encodeURIComponent(owner)}/repos` : '/user/repos', {
            name,
            private: isPrivate,
          }),
        ),
      ),
    deleteRepository: (access, name, limits) =>
      client.ask(access, limits, async (call) => void (await call.send('DELETE', repositoryPath(name)))),
    branches: (access, name, limits) =>
      client.ask(access, limits, (call) =>
        call.list({ path: `${repositoryPath(name)}/branches`, from: (value) => branchFrom(value, title) }),
      ),
    files: (access, name, { path, branch }, limits) =>
      client.ask(access, limits, async (call) => {
        const data = await call.get(`${repositoryPath(name)}${contents(path)}`, { ref: branch })
        if (!Array.isArray(data)) throw new GitHostError('not_found', `${path} is a file, not a folder`)
        return data.map((value) => entryFrom(value, title))
      }),
    file: (access, name, { path, branch }, limits) =>
      client.ask(access, limits, async (call) => {
        const data = await call.get(`${repositoryPath(name)}${contents(path)}`, { ref: branch })
        const fields = new Fields(data)
        if (Array.isArray(data) || fields.text('type') !== 'file') throw new GitHostError('not_found', `${path} is not a file`)
        const [content, sizeBytes] = [fields.text('content'), fields.whole('size')]
        if (content === null || sizeBytes === null || fields.text('encoding') !== 'base64') return nonsense(title, 'a file')
        const ref = branch ?? from(await call.get(repositoryPath(name))).defaultBranch ?? ''
        return { path, branch: ref, sizeBytes, text: Buffer.from(content, 'base64').toString('utf8') }
      }),
  }
}

const branchFrom = (value: unknown, title: string): HostBranch => {
  const fields = new Fields(value)
  return githubBranch(
    { name: fields.text('name'), protected: fields.yes('protected'), commit: { sha: fields.in('commit').text('id') } },
    title,
  )
}
