import { invalidResponse } from '../answer-parts.ts'
import { emptyInsteadOfMissing, noneIfEmpty } from '../empty-repository.ts'
import type { HostBranch, HostRepository, RepositoryCalls } from '../git-host.ts'
import { GitHostError } from '../git-host-error.ts'
import { entryFrom, branchFrom as githubBranch } from '../github/github-shapes.ts'
import { maxFileBytes, refuseLarge } from '../large-file.ts'
import { Fields } from '../payload.ts'
import type { RepositoryName } from '../repository-name.ts'
import type { RestCall, RestClient } from '../rest-client.ts'
import { repositoryPath } from './repository-path.ts'

const isEmpty = (call: RestCall, name: RepositoryName) => async () =>
  new Fields(await call.get(repositoryPath(name))).isTrue('empty')

/** Repositories and contents have GitHub's form; a branch's commit has another field name. */
export function createRepositories(
  client: RestClient,
  from: (value: unknown) => HostRepository,
): Omit<RepositoryCalls, 'account'> {
  const { title } = client
  const contents = (path: string) => `/contents/${path.split('/').map(encodeURIComponent).join('/')}`.replace(/\/$/, '')
  return {
    repositories: (access, limits) => client.request(access, limits, (call) => call.list({ path: '/user/repos', from })),
    repositoriesOf: (access, owner, limits) =>
      client.request(access, limits, (call) => {
        const name = encodeURIComponent(owner)
        return call.list({ path: `/orgs/${name}/repos`, from }).catch((error: unknown) => {
          if (error instanceof GitHostError && error.errorKind === 'not_found')
            return call.list({ path: `/users/${name}/repos`, from })
          throw error
        })
      }),
    repository: (access, name, limits) =>
      client.request(access, limits, async (call) => from(await call.get(repositoryPath(name)))),
    createRepository: (access, { name, owner, private: isPrivate }, limits) =>
      client.request(access, limits, async (call) =>
        from(
          await call.send('POST', owner ? `/orgs/${encodeURIComponent(owner)}/repos` : '/user/repos', {
            name,
            private: isPrivate,
          }),
        ),
      ),
    deleteRepository: (access, name, limits) =>
      client.request(access, limits, async (call) => void (await call.send('DELETE', repositoryPath(name)))),
    branches: (access, name, limits) =>
      noneIfEmpty(
        client.request(access, limits, (call) =>
          call
            .list({ path: `${repositoryPath(name)}/branches`, from: (value) => branchFrom(value, title) })
            .catch(emptyInsteadOfMissing(isEmpty(call, name))),
        ),
      ),
    files: (access, name, { path, branch }, limits) => {
      const listed = client.request(access, limits, async (call) => {
        const data = await call
          .get(`${repositoryPath(name)}${contents(path)}`, { ref: branch })
          .catch(emptyInsteadOfMissing(isEmpty(call, name)))
        if (!Array.isArray(data)) throw new GitHostError('not_found', `${path} is a file, not a folder`)
        return data.map((value) => entryFrom(value, title))
      })
      return path === '' && !branch ? noneIfEmpty(listed) : listed
    },
    file: (access, name, { path, branch }, limits) =>
      client.request(access, limits, async (call) => {
        const data = await call
          .get(`${repositoryPath(name)}${contents(path)}`, { ref: branch })
          .catch(emptyInsteadOfMissing(isEmpty(call, name)))
        const fields = new Fields(data)
        if (Array.isArray(data) || fields.text('type') !== 'file') throw new GitHostError('not_found', `${path} is not a file`)
        const [content, sizeBytes] = [fields.text('content'), fields.integer('size')]
        if (sizeBytes === null) return invalidResponse(title, 'a file')
        if (sizeBytes > maxFileBytes) return refuseLarge(path)
        const ref = branch ?? from(await call.get(repositoryPath(name))).defaultBranch ?? ''
        // Above its own limit the host omits the content.
        const bytes = content
          ? Buffer.from(content, 'base64')
          : await call.bytes(`${repositoryPath(name)}${contents(path).replace(/^\/contents/, '/raw')}`, { ref }, maxFileBytes)
        return { path, branch: ref, sizeBytes, text: (bytes ?? refuseLarge(path)).toString('utf8') }
      }),
  }
}

const branchFrom = (value: unknown, title: string): HostBranch => {
  const fields = new Fields(value)
  return githubBranch(
    { name: fields.text('name'), protected: fields.isTrue('protected'), commit: { sha: fields.in('commit').text('id') } },
    title,
  )
}
