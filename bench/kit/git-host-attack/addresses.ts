import { setTimeout as pause } from 'node:timers/promises'
import { tokens } from '../../../tests/kit/git-hosts/github-host.ts'
import { type Attack, type AttackScene, app, repository, theirs } from './scene.ts'

/** All requests that reached a server that is not a configured git host. */
export interface Visits {
  seen: { url: string; authorization: string | undefined }[]
}

/** URLs that point to internal addresses, or to another host with our token; and a token that the host has revoked. */
export function addressAttacks(scene: AttackScene, visits: Visits): Attack[] {
  const { request, validate, wrong, owner, mallory, host, elsewhere, own } = scene
  const { url } = elsewhere
  const withToken = () => visits.seen.filter(({ authorization }) => authorization !== undefined)
  const noToken = (name: string, run: () => Promise<void>): Attack => ({
    name,
    async run() {
      await run()
      for (const one of withToken()) wrong.push(`${name}: a credential was sent to another host: ${JSON.stringify(one)}`)
      visits.seen.length = 0
    },
  })
  const settled = async (who: typeof owner, id: string): Promise<string> => {
    for (const end = Date.now() + 60_000; ; await pause(200)) {
      const { status } = (await request(who, 'GET', `/deployments/${id}`)).body.data
      if (!['queued', 'building', 'deploying'].includes(status)) return status
      if (Date.now() > end) return `still ${status}`
    }
  }
  /** The token that mallory's organisation currently uses. */
  const tokenInUse = async (): Promise<string> => {
    const before = host.calls.length
    await request(mallory, 'GET', `/gitprovider/repos/${theirs}`)
    const used = host.calls.slice(before).find(({ token }) => token !== null)?.token
    return used ?? Promise.reject(new Error('mallory is not connected'))
  }
  const deploy = async (who: typeof owner, projectId: string): Promise<string> => {
    const begun = await request(who, 'POST', '/deployments/build/access', { body: { projectId } })
    return begun.status === 202 ? settled(who, begun.body.data.deploymentId) : `refused with ${begun.status}`
  }
  return [
    noToken('a project whose address is inside, or another host', async () => {
      const inside = [
        'http://169.254.169.254/latest/meta-data',
        'http://[::1]:22/a.git',
        'http://127.0.0.1:22/a.git',
        'file:///etc',
        'ext::sh -c id',
        '/etc',
        '--upload-pack=id',
        'ssh://-oProxyCommand=id/x',
        'http://localhost%00.evil.test/a',
        'gopher://127.0.0.1/',
        `http://${tokens.mallory}@127.0.0.1:1/a.git`,
      ]
      for (const gitUrl of [...inside, `${url}/mallory/app.git`]) {
        const made = await request(mallory, 'POST', '/projects', { body: { name: 'inside', gitUrl } })
        validate(gitUrl, made, [201, 400, 409])
        if (made.status !== 201) continue
        const ended = await deploy(mallory, made.body.data.id)
        if (ended === 'live') wrong.push(`${gitUrl} went live`)
        const named = { gitUrl, gitProvider: 'github', gitOwner: 'acme', gitRepo: 'shop' }
        validate('renamed', await request(mallory, 'PATCH', `/projects/${made.body.data.id}`, { body: named }), [200, 400, 404])
        await deploy(mallory, made.body.data.id)
        await request(mallory, 'DELETE', `/projects/${made.body.data.id}`, { body: { force: true } })
      }
    }),
    noToken('a submodule and large files at another host', async () => {
      const hash = 'a'.repeat(64)
      const files = {
        ...app('evil'),
        '.lfsconfig': `[lfs]\n\turl = ${url}/lfs\n`,
        '.gitattributes': '*.bin filter=lfs diff=lfs merge=lfs -text\n',
        'a.bin': `version https://git-lfs.github.com/spec/v1\noid sha256:${hash}\nsize 10\n`,
        '.gitmodules': `[submodule "x"]\n\tpath = x\n\turl = ${url}/acme/shop.git\n`,
      }
      await host.git.commit(theirs, files)
      const ended = await deploy(mallory, own.id)
      if (ended === 'live') wrong.push('a project whose large file is at another host went live')
      await host.git.commit(theirs, {
        ...app('good'),
        '.lfsconfig': null,
        '.gitattributes': null,
        'a.bin': null,
        '.gitmodules': null,
      })
    }),
    noToken('the host’s API and git send on to another host', async () => {
      const hers = await tokenInUse()
      host.intercept = ({ path, token }) =>
        token === hers && path.startsWith('/repos/')
          ? { status: 302, json: {}, headers: { location: `${url}${path}` } }
          : undefined
      try {
        for (const part of ['', '/branches', '/files', '/webhooks'])
          validate('sent on', await request(mallory, 'GET', `/gitprovider/repos/${theirs}${part}`), [200, 502])
      } finally {
        host.intercept = null
      }
      host.intercept = ({ path, token }) =>
        token === hers && path === '/user/repos'
          ? { json: [], headers: { link: `<${url}/user/repos?page=2>; rel="next", <${url}/user/repos?page=3>; rel="last"` } }
          : undefined
      try {
        validate('pages elsewhere', await request(mallory, 'GET', '/gitprovider/repos'), [200, 502])
      } finally {
        host.intercept = null
      }
    }),
    {
      name: 'a token that was revoked at the host goes on being used',
      async run() {
        await request(mallory, 'POST', '/gitprovider/disconnect')
        await scene.connect(mallory, 'oauth', 'mallory')
        const used = await tokenInUse()
        host.revoke(used)
        validate('revoked', await request(mallory, 'GET', `/gitprovider/repos/${theirs}/branches`), [400])
        const after = host.calls.length
        for (const path of ['', '/branches', '/files'])
          validate('again', await request(mallory, 'GET', `/gitprovider/repos/${theirs}${path}`), [400])
        await deploy(mallory, own.id)
        const again = host.calls.slice(after).filter(({ token }) => token === used).length
        if (again > 0 || host.rejectedGitTokens.includes(used)) wrong.push(`a revoked token was used ${again} times more`)
        if ((await request(mallory, 'GET', '/gitprovider/status')).body.state !== 'error')
          wrong.push('status does not say that it was revoked')
        await request(mallory, 'POST', '/gitprovider/disconnect')
        await scene.connect(mallory, 'oauth', 'mallory')
      },
    },
    noToken('mallory asks for what is the owner’s', async () => {
      for (const part of ['', '/branches', '/files', '/file', '/webhooks'])
        validate(part, await request(mallory, 'GET', `/gitprovider/repos/${repository}${part}`), [403, 404])
      validate('clone-token', await request(mallory, 'GET', `/gitprovider/repos/${repository}/clone-token`), [409])
      validate('delete', await request(mallory, 'DELETE', `/gitprovider/repos/${repository}`), [403, 404])
      validate('hook', await request(mallory, 'POST', `/gitprovider/repos/${repository}/webhooks`), [403, 404])
      const made = await request(mallory, 'POST', '/projects', {
        body: { name: 'theft', gitProvider: 'github', gitOwner: 'acme', gitRepo: 'shop' },
      })
      validate('project', made, [201, 404, 409])
      // The test git host accepts every valid token for every repository: the check is whose token arrives.
      const hers = await tokenInUse()
      host.onGit = async ({ token }) => {
        if (token !== hers) wrong.push('git came to acme/shop for mallory with a token that is not hers')
      }
      if (made.status === 201) await deploy(mallory, made.body.data.id)
      host.onGit = null
      if (made.status === 201) await request(mallory, 'DELETE', `/projects/${made.body.data.id}`, { body: { force: true } })
    }),
  ]
}
