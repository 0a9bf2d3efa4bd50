import { type Attack, type AttackScene, repository } from './scene.ts'

const redirect = '/gitprovider/connect/redirect'

/** The machine's login, and the OAuth redirects: which account is connected to which organisation. */
export function journeyAttacks(scene: AttackScene): Attack[] {
  const { ask, judge, wrong, owner, mallory, host, elsewhere } = scene
  const accounts = async (who: typeof owner): Promise<string> =>
    (await ask(who, 'GET', '/gitprovider/status')).body.accounts
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
    await ask(mallory, 'POST', '/gitprovider/disconnect')
    const { body } = await ask(null, 'POST', '/gitprovider/connect', { body: { source: 'oauth' }, ...withSession(mallory) })
    return body.url
  }
  const ended = () => scene.connect(mallory, 'oauth', 'mallory')
  return [
    unchanged('mallory’s organisation wants the machine’s login', async () => {
      judge('connect', await ask(mallory, 'POST', '/gitprovider/connect', { body: { source: 'cli' } }), [403])
      judge(
        'by query',
        await ask(mallory, 'POST', '/gitprovider/connect?source=cli&provider=github', { body: { source: 'cli' } }),
        [400, 403],
      )
      const status = await ask(mallory, 'GET', '/gitprovider/local-status')
      judge('local-status', status, [200])
      if (status.body.data.available || status.body.data.login) wrong.push('the machine’s login was shown to mallory')
      await ask(mallory, 'POST', '/gitprovider/disconnect')
      judge('without a source', await ask(mallory, 'POST', '/gitprovider/connect', { body: {} }), [200])
      judge('its repositories', await ask(mallory, 'GET', `/gitprovider/repos/${repository}`), [400])
      await ended()
    }),
    unchanged('a callback with mallory’s state in the owner’s browser', async () => {
      const back = await host.authorize(await started(), 'ann')
      judge('signed in as another', await ask(null, 'GET', `${redirect}${back.search}`, withSession(owner)), [400])
      await ended()
    }),
    unchanged('a callback with mallory’s state in a browser without a session', async () => {
      const back = await host.authorize(await started(), 'ann')
      judge('not signed in', await ask(null, 'GET', `${redirect}${back.search}`), [400])
      judge('as a page', await ask(null, 'GET', `${redirect}${back.search}`, { headers: { accept: 'text/html' } }), [400])
      await ended()
    }),
    unchanged('a state used twice, changed, of another instance, or none', async () => {
      const back = await host.authorize(await started(), 'mallory')
      judge('first', await ask(null, 'GET', `${redirect}${back.search}`, withSession(mallory)), [303])
      judge('twice', await ask(null, 'GET', `${redirect}${back.search}`, withSession(mallory)), [400])
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
        judge('changed', await ask(null, 'GET', `${redirect}?code=x&state=${encodeURIComponent(other)}`), [400])
      for (const many of ['?state=a&state=b', '?state[]=a', '?state[x]=a', ''])
        judge('several', await ask(null, 'GET', `${redirect}${many}`), [400])
    }),
    unchanged('an open redirect', async () => {
      const away = encodeURIComponent(elsewhere.url)
      const names = ['redirect', 'redirect_uri', 'next', 'returnTo', 'return_to', 'url', 'continue']
      const back = await host.authorize(await started(), 'mallory')
      const query = names.map((name) => `${name}=${away}`).join('&')
      const answer = await ask(null, 'GET', `${redirect}${back.search}&${query}`, {
        headers: { ...withSession(mallory).headers, 'x-forwarded-host': 'evil.test', referer: elsewhere.url },
      })
      judge('open redirect', answer, [303, 400])
      const location = String(answer.headers.location ?? '/')
      if (!location.startsWith('/') || location.startsWith('//')) wrong.push(`the browser was sent to ${location}`)
      if (answer.status !== 303) await ended()
    }),
    unchanged('another organisation’s installation by its number', async () => {
      await ask(mallory, 'POST', '/gitprovider/disconnect')
      const { body } = await ask(mallory, 'POST', '/gitprovider/connect', { body: {} })
      const state = encodeURIComponent(new URL(body.url).searchParams.get('state')!)
      const onward = await ask(null, 'GET', `${redirect}?installation_id=100&state=${state}`)
      judge('signs in first', onward, [303, 400])
      const next = onward.headers.location as string | undefined
      if (next?.startsWith('http')) {
        const back = await host.authorize(next, 'mallory')
        judge('as mallory', await ask(null, 'GET', `${redirect}${back.search}`), [400])
      }
      for (const id of ['1e3', '-1', '100 ', '../100', '9'.repeat(40)])
        judge(id, await ask(null, 'GET', `${redirect}?installation_id=${encodeURIComponent(id)}&state=${state}`), [400])
      await ended()
    }),
    unchanged('the cloud’s side of a login, on an instance that is none', async () => {
      const body = { provider: 'github', returnTo: elsewhere.url, state: 'x', challenge: 'y'.repeat(43) }
      for (const path of ['/gitprovider/handoffs', '/gitprovider/handoffs/collect', '/gitprovider/handoffs/refresh'])
        judge(path, await ask(mallory, 'POST', path, { body }), [400, 404])
    }),
    unchanged('the owner’s connection is ended by mallory', async () => {
      const { body } = await ask(owner, 'GET', '/auth/session')
      const headers = { 'x-organization-id': body.data.organization.id as string }
      judge('with a header', await ask(mallory, 'POST', '/gitprovider/disconnect', { headers }), [403])
      judge(
        'from another page',
        await ask(null, 'POST', '/gitprovider/disconnect', { headers: { cookie: owner.cookie, origin: elsewhere.url } }),
        [401, 403],
      )
    }),
  ]
}
