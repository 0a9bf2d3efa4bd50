import { branchesIn, entriesAt, fileAt, hasRef, isEmpty } from './git-content.ts'
import {
  notFound,
  type PlainHook,
  type PlainRepository,
  type PlainState,
  startPlainHost,
  tokenRoute,
  unauthorized,
  visible,
} from './plain-host.ts'
import type { Answer, Call, Route } from './web-app.ts'

/** A Gitea or Forgejo host, modelled on their v1 API documentation. */
export const startGiteaHost = () =>
  startPlainHost((state) => {
    const shown = ({ id, owner, name, private: isPrivate }: PlainRepository) => ({
      id,
      name,
      full_name: `${owner}/${name}`,
      private: isPrivate,
      description: '',
      default_branch: 'main',
      updated_at: '2026-01-02T03:04:05Z',
    })
    const pages = (call: Call, items: readonly unknown[]): Answer => {
      const [page, size] = [Number(call.query.get('page') ?? 1), Math.min(Number(call.query.get('limit') ?? 30), 50)]
      return { json: items.slice((page - 1) * size, page * size), headers: { 'x-total-count': String(items.length) } }
    }
    const signedIn =
      (route: (call: Call, user: { login: string; id: number }) => Promise<Answer> | Answer): Route =>
      (call) => {
        const user = state.tokens.get(call.token ?? '')
        return user ? route(call, user) : unauthorized
      }
    const inRepository: InRepository = (route) =>
      signedIn((call) => {
        const { owner, repo } = call.params
        const repository = visible(state, call).find((one) => one.owner === owner && one.name === repo)
        return repository ? route(call, repository, state.git.folderOf(`${owner}/${repo}`)) : notFound
      })
    const creating = (ownerOf: (call: Call, login: string) => string): Route =>
      signedIn(async (call, { login }) => {
        const { name, private: isPrivate } = call.json() as { name: string; private: boolean }
        const full = `${ownerOf(call, login)}/${name}`
        if (state.repositories.has(full))
          return { status: 409, json: { message: 'The repository with the same name already exists.' } }
        return { status: 201, json: shown(await state.add(full, { private: isPrivate })) }
      })
    const contents = inRepository(async (call, _, folder) => {
      const [ref, path] = [call.query.get('ref') ?? 'main', call.params.path ?? '']
      if (!(await hasRef(folder, ref))) return notFound
      const types = { blob: 'file', tree: 'dir', commit: 'submodule' }
      const entries = await entriesAt(folder, ref, path)
      if (entries)
        return {
          json: entries.map(({ name, path, type, sizeBytes }) => ({ name, path, type: types[type], size: sizeBytes ?? 0 })),
        }
      const content = await fileAt(folder, ref, path)
      return content
        ? {
            json: {
              type: 'file',
              name: path,
              path,
              size: content.length,
              encoding: 'base64',
              // Above a limit of the instance the content is left out.
              content: content.length > 1024 * 1024 ? '' : content.toString('base64'),
            },
          }
        : notFound
    })
    const raw = inRepository(async (call, _, folder) => {
      const content = await fileAt(folder, call.query.get('ref') ?? 'main', call.params.path ?? '')
      return content ? { text: content.toString('utf8') } : notFound
    })
    return {
      'POST /login/oauth/access_token': tokenRoute(state),
      'GET /api/v1/user': signedIn((_, { login, id }) => ({ json: { id, login, avatar_url: `${state.url}/avatars/${id}` } })),
      'GET /api/v1/user/repos': signedIn((call) => pages(call, visible(state, call).map(shown))),
      'GET /api/v1/orgs/:name/repos': signedIn((call) =>
        call.params.name === 'acme'
          ? pages(
              call,
              visible(state, call)
                .filter(({ owner }) => owner === 'acme')
                .map(shown),
            )
          : notFound,
      ),
      'GET /api/v1/users/:name/repos': signedIn((call) =>
        ['ann', 'bob'].includes(call.params.name!)
          ? pages(
              call,
              visible(state, call)
                .filter(({ owner }) => owner === call.params.name)
                .map(shown),
            )
          : notFound,
      ),
      'POST /api/v1/user/repos': creating((_, login) => login),
      'POST /api/v1/orgs/:name/repos': creating((call) => call.params.name!),
      'GET /api/v1/repos/:owner/:repo': inRepository(async (_, repository, folder) => ({
        json: { ...shown(repository), empty: await isEmpty(folder) },
      })),
      'GET /api/v1/repos/:owner/:repo/raw/:path*': raw,
      'DELETE /api/v1/repos/:owner/:repo': inRepository((_, { owner, name }) => {
        state.repositories.delete(`${owner}/${name}`)
        return { status: 204 }
      }),
      'GET /api/v1/repos/:owner/:repo/branches': inRepository(async (call, _, folder) =>
        pages(
          call,
          (await branchesIn(folder)).map(({ name, commit }) => ({ name, commit: { id: commit }, protected: name === 'main' })),
        ),
      ),
      'GET /api/v1/repos/:owner/:repo/contents': contents,
      'GET /api/v1/repos/:owner/:repo/contents/:path*': contents,
      'POST /api/v1/repos/:owner/:repo/statuses/:sha': inRepository((call, { owner, name }) => {
        const { state: status, context } = call.json() as { state: string; context: string }
        state.statuses.push({ repository: `${owner}/${name}`, sha: call.params.sha!, state: status, context })
        return { status: 201, json: { id: state.statuses.length } }
      }),
      ...hookRoutes(state, inRepository, pages),
      ...commentRoutes(state, inRepository, pages),
    }
  })

type InRepository = (route: (call: Call, repository: PlainRepository, folder: string) => Promise<Answer> | Answer) => Route
type Pages = (call: Call, items: readonly unknown[]) => Answer
const nameOf = ({ owner, name }: PlainRepository) => `${owner}/${name}`

function hookRoutes({ hooks }: PlainState, inRepository: InRepository, pages: Pages): Record<string, Route> {
  const shown = ({ id, url, active = true, events = ['push', 'pull_request'] }: PlainHook) => ({
    id,
    active,
    events,
    config: { url, content_type: 'json' },
  })
  const hookOf = (call: Call, repository: PlainRepository) =>
    hooks.find((hook) => String(hook.id) === call.params.hook && hook.repository === nameOf(repository))
  const settings = (call: Call) => {
    const { config, active, events } = call.json() as {
      config: { url: string; secret: string }
      active: boolean
      events: string[]
    }
    return { url: config.url, secret: config.secret, active, events }
  }
  return {
    'GET /api/v1/repos/:owner/:repo/hooks': inRepository((call, repository) =>
      pages(call, hooks.filter((hook) => hook.repository === nameOf(repository)).map(shown)),
    ),
    'POST /api/v1/repos/:owner/:repo/hooks': inRepository((call, repository) => {
      const hook = { id: (hooks.at(-1)?.id ?? 0) + 1, repository: nameOf(repository), ...settings(call) }
      hooks.push(hook)
      return { status: 201, json: shown(hook) }
    }),
    'PATCH /api/v1/repos/:owner/:repo/hooks/:hook': inRepository((call, repository) => {
      const hook = hookOf(call, repository)
      return hook ? { json: shown(Object.assign(hook, settings(call))) } : notFound
    }),
    'DELETE /api/v1/repos/:owner/:repo/hooks/:hook': inRepository((call, repository) => {
      const hook = hookOf(call, repository)
      if (hook) hooks.splice(hooks.indexOf(hook), 1)
      return hook ? { status: 204 } : notFound
    }),
  }
}

function commentRoutes({ comments }: PlainState, inRepository: InRepository, pages: Pages): Record<string, Route> {
  return {
    'GET /api/v1/repos/:owner/:repo/issues/:number/comments': inRepository((call, repository) =>
      pages(
        call,
        comments.filter((one) => one.repository === nameOf(repository) && String(one.number) === call.params.number),
      ),
    ),
    'POST /api/v1/repos/:owner/:repo/issues/:number/comments': inRepository((call, repository) => {
      const { body } = call.json() as { body: string }
      const comment = { id: comments.length + 1, repository: nameOf(repository), number: Number(call.params.number), body }
      comments.push(comment)
      return { status: 201, json: comment }
    }),
    'PATCH /api/v1/repos/:owner/:repo/issues/comments/:comment': inRepository((call) => {
      const comment = comments.find(({ id }) => String(id) === call.params.comment)
      return comment ? { json: Object.assign(comment, { body: (call.json() as { body: string }).body }) } : notFound
    }),
  }
}
