import { app, client, tokens } from './emulated-github.ts'
import { blobId, blobOf, branchesIn, entriesAt, fileAt, hasRef, isEmpty } from './git-content.ts'
import type { EmulatedRepository, GitHubState } from './github-state.ts'
import { passOn } from './pass-on.ts'
import { type Answer, type Call, paged, type Route } from './web-app.ts'

const notFound: Answer = { status: 404, json: { message: 'Not Found' } }

/**
 * Routes that the emulator lacks, or whose responses must match the real git repositories. If a route returns undefined, the
 * emulator responds.
 */
export function suppliedRoutes(host: GitHubState, emulatedUrl: string, validTokens: Set<string>): Record<string, Route> {
  const installationTokens = new Set<string>()
  const folder = ({ owner, repo }: Record<string, string>) => host.git.folderOf(`${owner}/${repo}`)
  const request = async (path: string, token: string | null) => {
    const response = await fetch(`${emulatedUrl}${path}`, { headers: token ? { authorization: `Bearer ${token}` } : {} })
    return response.ok ? await response.json() : null
  }
  /** Repositories that a user owns, and those of their organisations. */
  const repositoriesOf = async (token: string | null) => {
    const user = (await request('/user', token)) as { login: string } | null
    const owners = new Set([
      user?.login,
      ...(user && (await request(`/orgs/acme/memberships/${user.login}`, tokens.ann)) ? ['acme'] : []),
    ])
    return [...host.repositories.values()].filter(({ owner }) => owners.has(owner.login))
  }
  /** A repository that the caller may see; the emulator treats an installation as the account that it is on. */
  const seen = async (call: Call) =>
    (await request(`/repos/${call.params.owner}/${call.params.repo}`, call.token)) as EmulatedRepository | null

  const contents = async (call: Call): Promise<Answer> => {
    const repository = await seen(call)
    const ref = call.query.get('ref') ?? repository?.default_branch ?? 'main'
    const path = call.params.path!.replace(/\/$/, '')
    if (repository && (await isEmpty(folder(call.params)))) return { status: 404, json: { message: 'This repository is empty.' } }
    if (!repository || !(await hasRef(folder(call.params), ref))) return notFound
    const entries = await entriesAt(folder(call.params), ref, path)
    const types = { blob: 'file', tree: 'dir', commit: 'submodule' }
    if (entries)
      return {
        json: entries.map(({ name, path, type, mode, sizeBytes }) => ({
          name,
          path,
          type: mode === '120000' ? 'symlink' : types[type],
          size: sizeBytes ?? 0,
        })),
      }
    const content = await fileAt(folder(call.params), ref, path)
    if (!content) return notFound
    return {
      json: {
        type: 'file',
        name: path.split('/').at(-1),
        path,
        size: content.length,
        sha: await blobId(folder(call.params), ref, path),
        // Above 1 MB the content is left out.
        ...(content.length > 1024 * 1024
          ? { encoding: 'none', content: '' }
          : { encoding: 'base64', content: content.toString('base64') }),
      },
    }
  }

  return {
    'POST /login/device/code': (call) =>
      new URLSearchParams(call.body.toString()).get('client_id') === client.id
        ? host.devices.start()
        : { json: { error: 'incorrect_client_credentials' } },
    'POST /login/oauth/access_token': async (call) => {
      const device = host.devices.poll(call)
      if (device) return device
      const form = new URLSearchParams(call.body.toString())
      if (form.get('client_id') !== client.id || form.get('client_secret') !== client.secret)
        return { json: { error: 'incorrect_client_credentials' } }
      const answer = await passOn(call, emulatedUrl)
      const token = (answer.json as { access_token?: string }).access_token
      if (token) validTokens.add(token)
      return answer
    },
    'POST /app/installations/:id/access_tokens': async (call) => {
      const answer = await passOn(call, emulatedUrl)
      const token = (answer.json as { token?: string }).token
      if (token) {
        validTokens.add(token)
        installationTokens.add(token)
      }
      return answer
    },
    'GET /installation/repositories': async (call) => {
      if (!call.token || !installationTokens.has(call.token)) return { status: 403, json: { message: 'Resource not accessible' } }
      const own = [...host.repositories.values()].filter(({ owner }) => owner.login === 'acme')
      const { items, headers } = paged(call, own, host.url)
      return { json: { total_count: own.length, repositories: items }, headers }
    },
    'GET /user/installations': async (call) => ({
      json: {
        total_count: 1,
        installations:
          call.token === tokens.mallory
            ? []
            : [{ id: app.installationId, account: { login: 'acme', id: 1, type: 'Organization' } }],
      },
    }),
    'GET /user/memberships/orgs/:org': async (call) => {
      const user = (await request('/user', call.token)) as { login: string } | null
      const membership = user && (await request(`/orgs/${call.params.org}/memberships/${user.login}`, tokens.ann))
      return membership ? { json: membership } : notFound
    },
    'GET /users/:name': async (call) => {
      const organization = (await request(`/orgs/${call.params.name}`, call.token)) as object | null
      return organization ? { json: { ...organization, type: 'Organization' } } : undefined
    },
    'GET /user/repos': async (call) => {
      const { items, headers } = paged(call, await repositoriesOf(call.token), host.url)
      return { json: items, headers }
    },
    // As on GitHub, only public repositories are listed here, even to their owner.
    'GET /users/:name/repos': async (call) => {
      const own = [...host.repositories.values()].filter(
        (one) => !one.private && one.owner.login.toLowerCase() === call.params.name!.toLowerCase(),
      )
      const { items, headers } = paged(call, own, host.url)
      return { json: items, headers }
    },
    'GET /orgs/:org/repos': async (call) => {
      const own = (await repositoriesOf(call.token)).filter(
        ({ owner }) => owner.login.toLowerCase() === call.params.org!.toLowerCase(),
      )
      const { items, headers } = paged(call, own, host.url)
      return { json: items, headers }
    },
    ...createRoutes(host, emulatedUrl, installationTokens),
    'GET /repos/:owner/:repo/branches': async (call) => {
      if (!(await seen(call))) return notFound
      const branches = await branchesIn(folder(call.params)).catch(() => [])
      const { items, headers } = paged(
        call,
        branches.map(({ name, commit }) => ({ name, commit: { sha: commit }, protected: name === 'main' })),
        host.url,
      )
      return { json: items, headers }
    },
    'GET /repos/:owner/:repo/git/blobs/:sha': async (call) => {
      const content = (await seen(call)) && (await blobOf(folder(call.params), call.params.sha!))
      return content
        ? { json: { sha: call.params.sha, size: content.length, encoding: 'base64', content: content.toString('base64') } }
        : notFound
    },
    'GET /repos/:owner/:repo/contents': (call) => contents({ ...call, params: { ...call.params, path: '' } }),
    'GET /repos/:owner/:repo/contents/:path*': (call) => contents(call),
    'POST /repos/:owner/:repo/statuses/:sha': async (call) => {
      if (!(await seen(call))) return notFound
      const { state, context, description, target_url } = call.json() as Record<string, string>
      const { owner, repo, sha } = call.params as { owner: string; repo: string; sha: string }
      host.statuses.push({
        repository: `${owner}/${repo}`,
        sha,
        state: state!,
        context: context!,
        description: description!,
        targetUrl: target_url ?? null,
      })
      return { status: 201, json: { id: host.statuses.length, state, context } }
    },
    ...hookRoutes(host, emulatedUrl),
  }
}

/** The emulator stores the hooks; their secrets, which it never returns, are remembered here for the deliveries. */
function hookRoutes(host: GitHubState, emulatedUrl: string): Record<string, Route> {
  const remember = (call: Call, answer: Answer) => {
    const { owner, repo } = call.params
    const { config, events } = call.json() as { config: { url: string; secret: string }; events: string[] }
    const { id } = answer.json as { id: number }
    const hook = { id, repository: `${owner}/${repo}`, url: config.url, secret: config.secret, events }
    host.hooks.splice(
      0,
      host.hooks.length,
      ...host.hooks.filter((one) => one.id !== id || one.repository !== hook.repository),
      hook,
    )
  }
  const passing: Route = async (call) => {
    const answer = await passOn(call, emulatedUrl)
    if ((answer.status ?? 200) < 300) remember(call, answer)
    return answer
  }
  return {
    'POST /repos/:owner/:repo/hooks': (call) => {
      const { config } = call.json() as { config: { url: string } }
      const isTaken = host.hooks.some(
        (hook) => hook.repository === `${call.params.owner}/${call.params.repo}` && hook.url === config.url,
      )
      return isTaken
        ? { status: 422, json: { message: 'Validation Failed', errors: [{ message: 'Hook already exists on this repository' }] } }
        : passing(call)
    },
    'PATCH /repos/:owner/:repo/hooks/:id': passing,
    'DELETE /repos/:owner/:repo/hooks/:id': async (call) => {
      const answer = await passOn(call, emulatedUrl)
      const at = host.hooks.findIndex(({ id }) => String(id) === call.params.id)
      if ((answer.status ?? 200) < 300 && at >= 0) host.hooks.splice(at, 1)
      return answer
    },
  }
}

/** The emulator creates a repository only for a user; GitHub also for an app that may administrate the organisation. */
function createRoutes(host: GitHubState, emulatedUrl: string, installationTokens: ReadonlySet<string>): Record<string, Route> {
  const asPerson = (call: Call) => {
    const isApp = call.token !== null && installationTokens.has(call.token)
    return passOn(isApp ? { ...call, headers: { ...call.headers, authorization: `Bearer ${tokens.ann}` } } : call, emulatedUrl)
  }
  const creating: Route = async (call) => {
    const answer = await asPerson(call)
    if (answer.status === 201) {
      const made = answer.json as EmulatedRepository
      host.repositories.set(made.full_name, made)
      await host.git.createRepository(made.full_name)
    }
    return answer
  }
  return {
    'POST /user/repos': creating,
    'POST /orgs/:org/repos': creating,
    'DELETE /repos/:owner/:repo': async (call) => {
      const answer = await asPerson(call)
      if ((answer.status ?? 200) < 300) host.repositories.delete(`${call.params.owner}/${call.params.repo}`)
      return answer
    },
  }
}
