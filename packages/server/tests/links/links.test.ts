// gate: also on PostgreSQL, since two requests race for one link
import { limits } from '@berth/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { randomCode } from '../../src/modules/access/random-code.ts'
import { type Scene, setScene } from '../deployments/scene.ts'
import { call } from '../kit/call.ts'
import { makePeople, makeToken, type People } from '../kit/people.ts'

let scene: Scene
let people: People
beforeAll(async () => {
  scene = await setScene()
})
afterAll(() => scene.end())
beforeEach(async () => {
  scene.instance.drivers.runtime.kind = 'docker'
  scene.instance.drivers.runtime.onExec = async () => ({ exitCode: 0, stderrTail: '' })
  people = await makePeople(scene.instance)
})

const runtime = () => scene.instance.drivers.runtime
const db = () => scene.instance.database.db
const as = (token: string, at: `${string} /${string}`, params: Record<string, string>, body?: object) =>
  call(scene.instance, token, at as 'GET /', { params, ...(body ? { body } : {}) })
const nameOf = (word: string) => `${word} ${randomCode(8)}`

/** A service from a template; its address is not needed. */
async function addService(templateId: string, token = people.member.token): Promise<{ id: string; slug: string; name: string }> {
  const answer = await as(token, 'POST /catalogue/:templateId', { templateId }, { name: nameOf(templateId) })
  expect(answer.status).toBe(201)
  return answer.body.data
}

/** A project of one image. */
async function addApp(body: object = {}, token = people.member.token): Promise<{ id: string; slug: string; name: string }> {
  const answer = await call(scene.instance, token, 'POST /projects', {
    body: { name: nameOf('shop'), image: 'shop:1.0', port: 8080, ...body },
  })
  expect(answer.status).toBe(201)
  runtime().artifacts.set('shop:1.0', {
    kind: 'image',
    reference: 'shop:1.0',
    sizeBytes: 1,
    startCommand: null,
    deploymentId: '',
    projectId: '',
  })
  return answer.body.data
}

const link = (project: { id: string }, service: { id: string }, body: object = {}, token = people.member.token) =>
  as(token, 'POST /projects/:id/links', { id: project.id }, { serviceProjectId: service.id, ...body })
const unlink = (project: { id: string }, linkId: string) =>
  as(people.member.token, 'DELETE /projects/:id/links/:linkId', { id: project.id, linkId })
const linksOf = async (project: { id: string }, token = people.viewer.token) =>
  (await as(token, 'GET /projects/:id/links', { id: project.id })).body.data
const setEnv = (project: { id: string }, values: Record<string, string>, isSecret = false) =>
  as(
    people.member.token,
    'PATCH /projects/:id/env',
    { id: project.id },
    {
      upserts: Object.entries(values).map(([key, value]) => ({ key, value, isSecret })),
    },
  )
const deploy = async (project: { id: string }, environment = 'production'): Promise<string> => {
  const { body } = await call(scene.instance, people.member.token, 'POST /deployments/build/access', {
    body: { projectId: project.id, environment },
  })
  return body.data.deploymentId
}
const deploymentOf = async (id: string) => (await as(people.member.token, 'GET /deployments/:id', { id })).body.data
const deployed = async (project: { id: string }, environment = 'production') => {
  const id = await deploy(project, environment)
  await scene.instance.jobs.whenIdle()
  return deploymentOf(id)
}
const startedOf = (project: { id: string }) =>
  [...runtime().running.values()].filter(({ request }) => request.owner.projectId === project.id).at(-1)!.request
const recordOf = async (project: { id: string }) =>
  (await as(people.member.token, 'GET /projects/:id', { id: project.id })).body.data

/** Runs `work` when the runtime is asked to start the next instance. */
function whileStarting(work: (projectId: string) => Promise<void>): void {
  const start = runtime().start.bind(runtime())
  runtime().start = async (request) => {
    runtime().start = start
    await work(request.owner.projectId)
    return start(request)
  }
}

describe('a link', () => {
  test('gives the project the address and credentials of the service, on a private network', async () => {
    const [service, shop] = [await addService('postgres'), await addApp()]
    await scene.instance.jobs.whenIdle()
    const { status, body } = await link(shop, service)
    expect([status, body.warnings]).toEqual([201, undefined])
    expect(body.data).toMatchObject({
      projectId: shop.id,
      environment: 'production',
      serviceProjectId: service.id,
      service: { name: service.name, slug: service.slug },
      prefix: null,
      host: `${service.slug}.berth.internal`,
    })
    expect(body.data.variables).toEqual(['DATABASE_URL', 'PGHOST', 'PGPORT', 'PGUSER', 'PGPASSWORD', 'PGDATABASE'])
    expect(await linksOf(shop)).toEqual([body.data])

    expect(await deployed(shop)).toMatchObject({ status: 'live' })
    const [serviceRequest, shopRequest] = [startedOf(service), startedOf(shop)]
    const password = serviceRequest.env.POSTGRES_PASSWORD as string
    const host = `${service.slug}.berth.internal`
    expect(shopRequest.env).toMatchObject({
      DATABASE_URL: `postgresql://app:${password}@${host}:5432/app`,
      PGHOST: host,
      PGPASSWORD: password,
    })
    const network = `link/${body.data.id}`
    expect(shopRequest.links).toEqual([expect.objectContaining({ name: network, aliases: [] })])
    expect(runtime().joinedLinks.get(serviceRequest.instanceId)).toContainEqual(
      expect.objectContaining({ name: network, aliases: [host] }),
    )

    // The next deployment of the service joins by itself.
    await setEnv(service, { POSTGRES_DB: 'other' })
    await deployed(service)
    expect(startedOf(service).links).toEqual([{ name: network, aliases: [host] }])

    expect((await unlink(shop, body.data.id)).status).toBe(204)
    await scene.instance.jobs.whenIdle()
    expect(runtime().removedLinks).toContain(network)
    expect(await linksOf(shop)).toEqual([])
    await deployed(shop)
    expect(startedOf(shop).env).not.toHaveProperty('DATABASE_URL')
    expect(startedOf(shop).links).toBeUndefined()
    expect((await unlink(shop, body.data.id)).status).toBe(404)
  })

  test('shows no value in a list, a record, the variables, a log or the audit log', async () => {
    const [service, shop] = [await addService('redis'), await addApp()]
    await setEnv(shop, { CACHE: `\${{ ${service.slug}.REDIS_URL }}` })
    const made = await link(shop, service)
    const deployment = await deployed(shop)
    const { env, instanceId } = startedOf(shop)
    const password = startedOf(service).env.REDIS_PASSWORD as string
    expect(env.CACHE).toContain(password)
    // The app prints the password alone and the whole address.
    const output = runtime().running.get(instanceId)!.output
    for (const message of [`password ${password}`, `url ${env.REDIS_URL}`])
      output.push({ time: new Date().toISOString(), stream: 'stdout', message })
    const logs = () => as(people.viewer.token, 'GET /projects/:id/logs', { id: shop.id })
    await expect.poll(async () => JSON.stringify((await logs()).body)).toContain('url ')
    const variables = await as(people.viewer.token, 'GET /projects/:id/env', { id: shop.id })
    expect(variables.body.data).toEqual([expect.objectContaining({ key: 'CACHE', value: `\${{ ${service.slug}.REDIS_URL }}` })])
    const audit = await call(scene.instance, people.owner.token, 'GET /audit-log')
    expect(audit.body.data).toContainEqual(expect.objectContaining({ action: 'POST /projects/:id/links' }))
    const plans = await db()
      .selectFrom('deployments')
      .select(['plan', 'config', 'env'])
      .where('projectId', '=', shop.id)
      .execute()
    const shown = [
      made.body,
      deployment,
      (await logs()).body,
      variables.body,
      audit.body,
      await recordOf(shop),
      await linksOf(shop),
      plans,
    ]
    expect(JSON.stringify(shown)).not.toContain(password)
  })

  test('has other variable names with a prefix; two links that set one variable are refused', async () => {
    const [main, reports, shop] = [await addService('postgres'), await addService('postgres'), await addApp()]
    expect((await link(shop, main)).status).toBe(201)
    expect(await link(shop, reports)).toMatchObject({
      status: 409,
      body: {
        code: 'conflict',
        field: 'prefix',
        error: `DATABASE_URL is already set by the link to ${main.name}. Choose a prefix with --prefix.`,
      },
    })
    expect(await link(shop, main, { prefix: 'MAIN_' })).toMatchObject({
      status: 409,
      body: { error: expect.stringMatching(/already linked/) },
    })
    const { body } = await link(shop, reports, { prefix: 'REPORTS_' })
    expect(body.data.variables).toContain('REPORTS_DATABASE_URL')
    await deployed(shop)
    const { env } = startedOf(shop)
    expect(env.DATABASE_URL).toContain(main.slug)
    expect(env.REPORTS_DATABASE_URL).toContain(reports.slug)
    for (const prefix of ['1', 'A B', 'a'.repeat(65), 7])
      expect(await link(shop, main, { prefix })).toMatchObject({ status: 400, body: { field: 'prefix' } })
  })

  test('is overridden by a variable of the project, with a warning', async () => {
    const [service, shop] = [await addService('redis'), await addApp()]
    await setEnv(shop, { REDIS_HOST: 'own.example' })
    expect((await link(shop, service)).body.warnings).toEqual([
      'The project has its own variable REDIS_HOST, which replaces the one of the link.',
    ])
    await deployed(shop)
    expect(startedOf(shop).env.REDIS_HOST).toBe('own.example')
  })

  test('belongs to one environment', async () => {
    const [service, shop] = [await addService('redis'), await addApp()]
    await as(people.member.token, 'POST /projects/:id/environments', { id: shop.id }, { name: 'Staging', type: 'development' })
    expect(await link(shop, service, { environment: 'nothing' })).toMatchObject({ status: 400, body: { field: 'environment' } })
    const { body } = await link(shop, service, { environment: 'staging' })
    expect(body.data.environment).toBe('staging')
    await deployed(shop)
    expect(startedOf(shop).env).not.toHaveProperty('REDIS_URL')
    await as(people.owner.token, 'DELETE /projects/:id/environments/:environment', { id: shop.id, environment: 'staging' })
    expect(await linksOf(shop)).toEqual([])
    await scene.instance.jobs.whenIdle()
    expect(runtime().removedLinks).toContain(`link/${body.data.id}`)
  })

  test('reaches the preview of a pull request only with production variables, and never one of a fork', async () => {
    const [service, shop] = [await addService('redis'), await addApp()]
    await link(shop, service)
    const environment = { projectId: shop.id, type: 'preview' as const, branch: null, uploadSessionId: null, createdAt: 2 }
    for (const [at, slug] of ['pr-7', 'pr-8'].entries())
      await db()
        .insertInto('environments')
        .values({
          ...environment,
          id: `env_${shop.id}${at}`,
          name: slug,
          slug,
          pullRequest: 7 + at,
          fromFork: at as 0 | 1,
          deletingSince: null,
        })
        .execute()
    const given = async (slug: string) => {
      expect(await deployed(shop, slug)).toMatchObject({ status: 'live' })
      const { env, links } = startedOf(shop)
      return ['REDIS_URL' in env, links !== undefined]
    }
    expect([await given('pr-7'), await given('pr-8')]).toEqual([
      [false, false],
      [false, false],
    ])
    await as(people.owner.token, 'POST /projects/:id/preview-variables', { id: shop.id }, { fromProduction: true })
    expect([await given('pr-7'), await given('pr-8')]).toEqual([
      [true, true],
      [false, false],
    ])
  })

  test('is created once by two requests at the same time', async () => {
    const [service, shop] = [await addService('redis'), await addApp()]
    const statuses = (await Promise.all([link(shop, service), link(shop, service)])).map(({ status }) => status)
    expect(statuses.sort()).toEqual([201, 409])
    expect(await linksOf(shop)).toHaveLength(1)
  })

  test('changes with the service: linked projects wait for a deployment', async () => {
    const [service, shop] = [await addService('redis'), await addApp()]
    await link(shop, service)
    await deployed(shop)
    expect((await recordOf(shop)).pendingChanges).toEqual([])
    await setEnv(service, { REDIS_PASSWORD: 'rotated-password-of-test' }, true)
    expect((await recordOf(shop)).pendingChanges).toEqual(['env'])
    await deployed(shop)
    expect(startedOf(shop).env.REDIS_URL).toContain('rotated-password-of-test')
    expect((await recordOf(shop)).pendingChanges).toEqual([])
  })

  test('that is deleted while the project starts leaves no network', async () => {
    const [service, shop] = [await addService('redis'), await addApp()]
    await scene.instance.jobs.whenIdle()
    const { id } = (await link(shop, service)).body.data
    const network = `link/${id}`
    whileStarting(async () => {
      expect((await unlink(shop, id)).status).toBe(204)
      await expect.poll(() => runtime().removedLinks).toContain(network)
    })
    expect(await deployed(shop)).toMatchObject({ status: 'live' })
    expect([...runtime().linkNetworks.keys()]).not.toContain(network)
  })

  test('that is created while the service starts connects both', async () => {
    const shop = await addApp()
    let network = ''
    whileStarting(async (serviceId) => {
      network = `link/${(await link(shop, { id: serviceId })).body.data.id}`
      const id = await deploy(shop)
      await expect.poll(async () => (await deploymentOf(id)).status).toBe('live')
    })
    const service = await addService('redis')
    await scene.instance.jobs.whenIdle()
    expect((await recordOf(service)).status).toBe('live')
    const members = [startedOf(shop), startedOf(service)].map(({ instanceId }) => instanceId)
    expect([...runtime().linkNetworks.get(network)!]).toEqual(members)
  })

  test('has a host name that leads to one service from each environment, also after a service was renamed', async () => {
    const [old, shop] = [await addService('redis'), await addApp()]
    const first = (await link(shop, old)).body.data
    const { slug } = old
    const rename = (id: string, to: string) => as(people.admin.token, 'PATCH /projects/:id', { id }, { slug: to })
    expect((await rename(old.id, `${slug}-old`)).status).toBe(200)
    const young = await addService('redis')
    expect((await rename(young.id, slug)).status).toBe(200)
    await as(people.member.token, 'POST /projects/:id/environments', { id: shop.id }, { name: 'Preview', type: 'development' })
    const second = (await link(shop, young, { environment: 'preview' })).body.data
    expect([first.host, second.host]).toEqual([`${slug}.berth.internal`, `${slug}-2.berth.internal`])
  })

  test('is limited in number', async () => {
    const [service, shop] = [await addService('memcached'), await addApp()]
    const row = { projectId: shop.id, serviceProjectId: service.id, prefix: null, host: 'x', createdBy: null, createdAt: 1 }
    const rows = Array.from({ length: limits.linksOfProject }, (_, at) => ({
      ...row,
      id: `lnk_${shop.id}${at}`,
      environment: `e${at}`,
    }))
    await db().insertInto('projectLinks').values(rows).execute()
    expect(await link(shop, service)).toMatchObject({
      status: 409,
      body: { error: expect.stringMatching(/has 20 links, the maximum/) },
    })
  })
})

describe('a link is refused', () => {
  test('to a service of another organisation, as if it did not exist', async () => {
    const other = await makePeople(scene.instance)
    const [foreign, shop] = [await addService('postgres', other.member.token), await addApp()]
    const unknown = await link(shop, { id: 'prj_nothing' })
    expect(unknown).toMatchObject({ status: 404, body: { code: 'not_found', field: 'serviceProjectId' } })
    expect((await link(shop, foreign)).body).toEqual(unknown.body)
    // A reference by slug does not reach it either.
    await setEnv(shop, { STOLEN: `\${{ ${foreign.slug}.POSTGRES_PASSWORD }}` })
    expect(await deployed(shop)).toMatchObject({
      status: 'failed',
      error: { code: 'variable_unresolved', message: expect.stringMatching(/has no link to/) },
    })
    // A row that somehow exists gives nothing either.
    const row = {
      projectId: shop.id,
      environment: 'production',
      serviceProjectId: foreign.id,
      prefix: null,
      host: 'x',
      createdBy: null,
    }
    await db()
      .insertInto('projectLinks')
      .values({ ...row, id: `lnk_${shop.id}`, createdAt: 1 })
      .execute()
    expect(await deployed(shop)).toMatchObject({ status: 'failed', error: { code: 'variable_unresolved' } })
  })

  test('to callers who may not write the project, or the service', async () => {
    const [service, shop] = [await addService('postgres'), await addApp()]
    expect(await link(shop, service, {}, people.viewer.token)).toMatchObject({
      status: 403,
      body: { permission: 'project:write' },
    })
    await as(people.owner.token, 'PUT /projects/:id/grants', { id: service.id }, { userId: people.member.userId, level: 'read' })
    expect(await link(shop, service)).toMatchObject({
      status: 403,
      body: { permission: 'project:write', field: 'serviceProjectId' },
    })
    const token = await makeToken(scene.instance, people.admin, { projectIds: [shop.id] })
    expect(await link(shop, service, {}, token)).toMatchObject({ status: 403, body: { field: 'serviceProjectId' } })
    expect(await linksOf(shop)).toEqual([])
  })

  test('to a project that is not a service, to itself, and on plain processes', async () => {
    const [service, shop] = [await addService('redis'), await addApp()]
    expect(await link(shop, shop)).toMatchObject({ status: 400, body: { field: 'serviceProjectId' } })
    expect(await link(service, shop)).toMatchObject({
      status: 409,
      body: { error: expect.stringMatching(/is not a service that can be linked/) },
    })
    runtime().kind = 'process'
    expect(await link(shop, service)).toMatchObject({ status: 409, body: { error: expect.stringMatching(/Links need Docker/) } })
  })
})

describe('a reference in a variable', () => {
  /** Values that look like references. */
  const literal = { OTHER: '$' + '{{ github.sha }', ESCAPES: '$& $1 $' + '{POSTGRES_USER}' }

  test('is replaced by a variable of the linked service, also inside other text', async () => {
    const [service, shop] = [await addService('postgres'), await addApp()]
    await link(shop, service)
    await setEnv(shop, {
      WHOLE: `\${{ ${service.slug}.DATABASE_URL }}`,
      PART: `pool(\${{${service.slug}.POSTGRES_USER}}@\${{ ${service.slug}.HOST }}:\${{ ${service.slug}.PORT }})`,
      ...literal,
    })
    expect(await deployed(shop)).toMatchObject({ status: 'live' })
    const { env } = startedOf(shop)
    expect(env).toMatchObject({
      WHOLE: env.DATABASE_URL,
      PART: `pool(app@${service.slug}.berth.internal:5432)`,
      ...literal,
    })
  })

  test('that is unknown fails the deployment with the reason, and the old one keeps serving', async () => {
    const [service, shop] = [await addService('redis'), await addApp()]
    await link(shop, service)
    await deployed(shop)
    await setEnv(shop, { A: `\${{ ${service.slug}.NOTHING }}` })
    expect((await deployed(shop)).error).toMatchObject({
      code: 'variable_unresolved',
      message: `The variable A of ${shop.slug} refers to \${{ ${service.slug}.NOTHING }}, but ${service.slug} has no variable NOTHING.`,
    })
    expect((await recordOf(shop)).status).toBe('live')
  })

  test('of two services to each other fails with the cycle, and the worker continues', async () => {
    const [one, two] = [await addService('redis'), await addService('memcached')]
    expect((await link(one, two)).status).toBe(201)
    expect((await link(two, one)).status).toBe(201)
    await setEnv(one, { A: `\${{ ${two.slug}.B }}` })
    await setEnv(two, { B: `\${{ ${one.slug}.A }}` })
    expect((await deployed(one)).error).toMatchObject({
      code: 'variable_unresolved',
      message: `Variables refer to each other in a cycle: ${one.slug}.A → ${two.slug}.B → ${one.slug}.A`,
    })
    await setEnv(two, { B: 'end' })
    expect(await deployed(one)).toMatchObject({ status: 'live' })
    expect(startedOf(one).env.A).toBe('end')
  })
})

describe('a linked service', () => {
  test('is not linked and deleted at the same time', async () => {
    const [{ id }, ...apps] = [await addService('redis'), await addApp(), await addApp(), await addApp()]
    await scene.instance.jobs.whenIdle()
    const remove = () => call(scene.instance, people.owner.token, 'DELETE /projects/:id', { params: { id } } as never)
    const [deletion, ...links] = await Promise.all([remove(), ...apps.map((app) => link(app, { id }))])
    const linked = links.some(({ status }) => status === 201)
    expect(deletion.status).toBe(linked ? 409 : 200)
  })

  test('that is deleted has no link any more when the network is removed', async () => {
    const [service, shop] = [await addService('redis'), await addApp()]
    const { id } = (await link(shop, service)).body.data
    await deployed(shop)
    expect((await recordOf(shop)).pendingChanges).toEqual([])
    const linksLeft: number[] = []
    const removeLink = runtime().removeLink.bind(runtime())
    runtime().removeLink = async (name) => {
      if (name === `link/${id}`) linksLeft.push((await linksOf(shop)).length)
      await removeLink(name)
    }
    const query = { force: true }
    await call(scene.instance, people.owner.token, 'DELETE /projects/:id', { params: { id: service.id }, query } as never)
    await scene.instance.jobs.whenIdle()
    runtime().removeLink = removeLink
    expect(linksLeft).toEqual([0])
    expect((await recordOf(shop)).pendingChanges).toEqual(['env'])
  })

  test('can be deleted only with force, and the error names its users', async () => {
    const [service, shop] = [await addService('redis'), await addApp()]
    const { id } = (await link(shop, service)).body.data
    await scene.instance.jobs.whenIdle()
    const remove = (query: object) =>
      call(scene.instance, people.owner.token, 'DELETE /projects/:id', { params: { id: service.id }, query } as never)
    expect(await remove({})).toMatchObject({
      status: 409,
      body: {
        code: 'conflict',
        error: `${service.name} is linked to ${shop.slug}. Delete the links first, or delete it with force=true.`,
      },
    })
    const preview = await as(people.owner.token, 'GET /projects/:id/deletion-preview', { id: service.id })
    expect(preview.body.data.items).toContainEqual(
      expect.objectContaining({ kind: 'link', name: `${shop.name} to ${service.name}` }),
    )
    expect((await remove({ force: true })).status).toBe(200)
    expect(await linksOf(shop)).toEqual([])
    await scene.instance.jobs.whenIdle()
    expect(runtime().removedLinks).toContain(`link/${id}`)
  })
})
