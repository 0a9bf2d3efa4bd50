import { type Attack, type AttackScene, repository } from './scene.ts'

const redirect = '/gitprovider/connect/redirect'

/** The machine's login, and the OAuth redirects: which account is connected to which organisation. */
export function journeyAttacks(scene: AttackScene): Attack[] {
  const { request, validate, wrong, owner, mallory, host, elsewhere } = scene
  const accounts = async (who: typeof owner): Promise<string> =>
    (await request(who, 'GET', '/gitprovider/status')).body.accounts
      .map((one: { login: string }) => one.login)
      .sort()
      .join()
  const withSession = ({ cookie }: typeof owner) => ({ headers: { cookie, origin: scene.hosting.berth.url } })
  /** An attempt to change which account is connected. */
  const unchanged = (name: string, run: () => Promise<void>): Attack => ({
    name,
    async run() {
      const before = [await accounts(owner), await accounts(mallory)]
      await run()
      const after = [await accounts(owner), await accounts(mallory)]
      if (before.join(' | ') !== after.join(' | ')) wrong.push(`${name}: ${before.join(' | ')} became ${after.join(' | ')}`)
    },
  })
  /** Mallory starts a connection with her session. She disconnects first: while connected, nothing starts. */
  const started = async (): Promise<string> => {
    await request(mallory, 'POST', '/gitprovider/disconnect')
    const { body } = await request(null, 'POST', '/gitprovider/connect', { body: { source: 'oauth' }, ...withSession(mallory) })
    return body.url
  }
  const ended = () => scene.connect(mallory, 'oauth', 'mallory')
  return [
    unchanged('mallory’s organisation wants the machine’s login', async () => {
      validate('connect', await request(mallory, 'POST', '/gitprovider/connect', { body: { source: 'cli' } }), [403])
      validate(
        'by query',
        await request(mallory, 'POST', '/gitprovider/connect?source=cli&provider=github', { body: { source: 'cli' } }),
        [400, 403],
      )
      const status = await request(mallory, 'GET', '/gitprovider/local-status')
      validate('local-status', status, [200])
      if (status.body.data.available || status.body.data.login) wrong.push('the machine’s login was shown to mallory')
      await request(mallory, 'POST', '/gitprovider/disconnect')
      validate('without a source', await request(mallory, 'POST', '/gitprovider/connect', { body: {} }), [200])
      validate('its repositories', await request(mallory, 'GET', `/gitprovider/repos/${repository}`), [400])
      await ended()
    }),
    unchanged('a callback with mallory’s state in the owner’s browser', async () => {
      const back = await host.authorize(await started(), 'ann')
      validate('signed in as another', await request(null, 'GET', `${redirect}${back.search}`, withSession(owner)), [400])
      await ended()
    }),
    unchanged('a callback with mallory’s state in a browser without a session', async () => {
      const back = await host.authorize(await started(), 'ann')
      validate('not signed in', await request(null, 'GET', `${redirect}${back.search}`), [400])
      validate('as a page', await request(null, 'GET', `${redirect}${back.search}`, { headers: { accept: 'text/html' } }), [400])
      await ended()
    }),
    unchanged('a state used twice, changed, of another instance, or none', async () => {
      const back = await host.authorize(await started(), 'mallory')
      validate('first', await request(null, 'GET', `${redirect}${back.search}`, withSession(mallory)), [303])
      validate('twice', await request(null, 'GET', `${redirect}${back.search}`, withSession(mallory)), [400])
      const state = back.searchParams.get('state')!
      for (const other of [
        state.slice(0, -2),
        `A${state.slice(1)}`,
        state.replace('.', ''),
        '',
        'x',
        '.',
        `${state}.${state}`,
        '\0',
        '[]',
      ])
        validate('changed', await request(null, 'GET', `${redirect}?code=x&state=${encodeURIComponent(other)}`), [400])
      for (const many of ['?state=a&state=b', '?state[]=a', '?state[x]=a', ''])
        validate('several', await request(null, 'GET', `${redirect}${many}`), [400])
    }),
    unchanged('an open redirect', async () => {
      const away = encodeURIComponent(elsewhere.url)
      const names = ['redirect', 'redirect_uri', 'next', 'returnTo', 'return_to', 'url', 'continue']
      const back = await host.authorize(await started(), 'mallory')
      const query = names.map((name) => `${name}=${away}`).join('&')
      const answer = await request(null, 'GET', `${redirect}${back.search}&${query}`, {
        headers: { ...withSession(mallory).headers, 'x-forwarded-host': 'evil.test', referer: elsewhere.url },
      })
      validate('open redirect', answer, [303, 400])
      const location = String(answer.headers.location ?? '/')
      if (!location.startsWith('/') || location.startsWith('//')) wrong.push(`the browser was sent to ${location}`)
      if (answer.status !== 303) await ended()
    }),
    unchanged('another organisation’s installation by its number', async () => {
      await request(mallory, 'POST', '/gitprovider/disconnect')
      const { body } = await request(mallory, 'POST', '/gitprovider/connect', { body: {} })
      const state = encodeURIComponent(new URL(body.url).searchParams.get('state')!)
      const onward = await request(null, 'GET', `${redirect}?installation_id=100&state=${state}`)
      validate('signs in first', onward, [303, 400])
      const next = onward.headers.location as string | undefined
      if (next?.startsWith('http')) {
        const back = await host.authorize(next, 'mallory')
        validate('as mallory', await request(null, 'GET', `${redirect}${back.search}`), [400])
      }
      for (const id of ['1e3', '-1', '100 ', '../100', '9'.repeat(40)])
        validate(id, await request(null, 'GET', `${redirect}?installation_id=${encodeURIComponent(id)}&state=${state}`), [400])
      await ended()
    }),
    unchanged('the cloud’s side of a login, on an instance that is none', async () => {
      const body = { provider: 'github', returnTo: elsewhere.url, state: 'x', challenge: 'y'.repeat(43) }
      for (const path of ['/gitprovider/handoffs', '/gitprovider/handoffs/collect', '/gitprovider/handoffs/refresh'])
        validate(path, await request(mallory, 'POST', path, { body }), [400, 404])
    }),
    unchanged('the owner’s connection is ended by mallory', async () => {
      const { body } = await request(owner, 'GET', '/auth/session')
      const headers = { 'x-organization-id': body.data.organization.id as string }
      validate('with a header', await request(mallory, 'POST', '/gitprovider/disconnect', { headers }), [403])
      validate(
        'from another page',
        await request(null, 'POST', '/gitprovider/disconnect', { headers: { cookie: owner.cookie, origin: elsewhere.url } }),
        [401, 403],
      )
    }),
  ]
}
