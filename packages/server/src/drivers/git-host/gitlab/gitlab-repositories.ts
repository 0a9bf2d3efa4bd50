import { invalidResponse } from '../answer-parts.ts'
import { emptyInsteadOfMissing, noneIfEmpty } from '../empty-repository.ts'
import type { RepositoryCalls } from '../git-host.ts'
import { GitHostError } from '../git-host-error.ts'
import { maxFileBytes, refuseLarge } from '../large-file.ts'
import { Fields } from '../payload.ts'
import type { RepositoryName } from '../repository-name.ts'
import type { RestCall, RestClient } from '../rest-client.ts'
import { accountFrom, branchFrom, entryFrom, repositoryFrom } from './gitlab-shapes.ts'

export const projectPath = ({ owner, repo }: RepositoryName): string => `/projects/${encodeURIComponent(`${owner}/${repo}`)}`

const isEmpty = (call: RestCall, name: RepositoryName) => async () => {
  const project = new Fields(await call.get(projectPath(name)))
  return project.isTrue('empty_repo') || !project.has('default_branch')
}

export function createRepositories(client: RestClient): RepositoryCalls {
  const { title } = client
  const from = (value: unknown) => repositoryFrom(value, title, client.settings.webUrl)
  return {
    account: (access, limits) => client.request(access, limits, async (call) => accountFrom(await call.get('/user'), title)),
    repositories: (access, limits) =>
      client.request(access, limits, (call) =>
        call.list({ path: '/projects', query: { membership: true, order_by: 'last_activity_at' }, from }),
      ),
    repositoriesOf: (access, owner, limits) =>
      client.request(access, limits, (call) => {
        const name = encodeURIComponent(owner)
        return call.list({ path: `/groups/${name}/projects`, from }).catch((error: unknown) => {
          if (error instanceof GitHostError && error.errorKind === 'not_found')
            return call.list({ path: `/users/${name}/projects`, from })
          throw error
        })
      }),
    repository: (access, name, limits) => client.request(access, limits, async (call) => from(await call.get(projectPath(name)))),
    createRepository: (access, { name, owner, private: isPrivate }, limits) =>
      client.request(access, limits, async (call) => {
        const namespace = owner ? new Fields(await call.get(`/namespaces/${encodeURIComponent(owner)}`)).integer('id') : undefined
        if (namespace === null) return invalidResponse(title, 'a namespace')
        const visibility = isPrivate ? 'private' : 'public'
        return from(
          await call.send('POST', '/projects', {
            name,
            path: name,
            visibility,
            ...(namespace ? { namespace_id: namespace } : {}),
          }),
        )
      }),
    deleteRepository: (access, name, limits) =>
      client.request(access, limits, async (call) => void (await call.send('DELETE', projectPath(name)))),
    branches: (access, name, limits) =>
      noneIfEmpty(
        client.request(access, limits, (call) =>
          call
            .list({ path: `${projectPath(name)}/repository/branches`, from: (value) => branchFrom(value, title) })
            .catch(emptyInsteadOfMissing(isEmpty(call, name))),
        ),
      ),
    files: (access, name, { path, branch }, limits) => {
      const listed = client.request(access, limits, async (call) => {
        const query = { path: path || undefined, ref: branch }
        const list = await call
          .list({ path: `${projectPath(name)}/repository/tree`, query, from: (value) => entryFrom(value, title) })
          .catch(emptyInsteadOfMissing(isEmpty(call, name)))
        // Git has no empty folders, so an empty list means that the folder does not exist.
        if (list.length === 0 && path !== '') throw new GitHostError('not_found', `${path} is not a folder`)
        return list
      })
      return path === '' && !branch ? noneIfEmpty(listed) : listed
    },
    file: (access, name, { path, branch }, limits) =>
      client.request(access, limits, async (call) => {
        const ref = branch ?? from(await call.get(projectPath(name))).defaultBranch ?? 'HEAD'
        const at = `${projectPath(name)}/repository/files/${encodeURIComponent(path)}`
        const fields = new Fields(await call.get(at, { ref }).catch(emptyInsteadOfMissing(isEmpty(call, name))))
        const [content, sizeBytes] = [fields.text('content'), fields.integer('size')]
        if (sizeBytes !== null && sizeBytes > maxFileBytes) return refuseLarge(path)
        if (content === null || sizeBytes === null || fields.text('encoding') !== 'base64')
          return invalidResponse(title, 'a file')
        return { path, branch: ref, sizeBytes, text: Buffer.from(content, 'base64').toString('utf8') }
      }),
  }
}
