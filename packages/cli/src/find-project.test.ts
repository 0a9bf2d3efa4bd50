import { expect, test } from 'vitest'
import { type CliFixture, cliFixture } from './cli-fixture.ts'

const id = (letter: string) => `prj_${letter.repeat(20)}`
const projects = [
  { id: id('a'), slug: 'shop', name: 'The Shop' },
  { id: id('b'), slug: 'blog', name: 'Blog' },
  { id: id('c'), slug: 'blog-2', name: 'Blog' },
  { id: id('d'), slug: 'shop-old', name: 'shop' },
]

const withProjects = (data: object[], cloud = { linked: false, reachable: false }) =>
  cliFixture(({ path }) => (path === '/projects/home' ? { body: { data, cloud } } : { body: { data: {} } }))

const sleep = (cli: CliFixture, project: string) => cli.berth('sleep', 'never', '--project', project)

test.each([
  ['its slug', 'shop', id('a')],
  ['its slug, which another project has as a name', 'blog', id('b')],
  ['its name', 'The Shop', id('a')],
  ['its name in other case', 'the shop', id('a')],
])('--project takes %s', async (_, given, expected) => {
  await using cli = await withProjects(projects)
  expect(await sleep(cli, given)).toMatchObject({ code: 0 })
  expect(cli.requests.at(-1)).toMatchObject({ method: 'POST', path: expect.stringContaining(`/projects/${expected}/`) })
})

test('an id is used as it is: a token that may not list projects can still name one', async () => {
  await using cli = await withProjects([])
  expect(await sleep(cli, id('z'))).toMatchObject({ code: 0 })
  expect(cli.requests.map(({ path }) => path)).toEqual([expect.stringContaining(`/projects/${id('z')}/`)])
})

test('an unknown name lists the projects', async () => {
  await using few = await withProjects(projects)
  expect(await sleep(few, 'shp')).toMatchObject({
    code: 5,
    stderr: 'error: No project named shp. Projects here: shop, blog, blog-2, shop-old.\n',
  })
})

test('at most ten projects are listed', async () => {
  await using many = await withProjects(Array.from({ length: 12 }, (_, n) => ({ id: id('a'), slug: `p${n}`, name: `P ${n}` })))
  expect((await sleep(many, 'x')).stderr).toContain('p8, p9 and 2 more (berth list).')
})

test('the message names the next step if there are no projects, and an unreachable cloud', async () => {
  await using none = await withProjects([], { linked: true, reachable: false })
  expect((await sleep(none, 'x')).stderr).toMatch(/no projects yet\. Run berth deploy.*The cloud is unreachable/)
})

test('a name shared by several projects is refused, and the error lists their slugs', async () => {
  await using cli = await withProjects(projects)
  const { code, stderr } = await sleep(cli, 'Blog')
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(`blog (${id('b')}), blog-2 (${id('c')})`) })
  expect(cli.requests.filter(({ method }) => method !== 'GET')).toEqual([])
})

test('berth token create and berth project transfer take names too', async () => {
  await using cli = await withProjects(projects)
  await cli.berth('token', 'create', 'ci', '--project', 'shop', 'The Shop', id('z'))
  expect(cli.requests.at(-1)?.body).toMatchObject({ projectIds: [id('a'), id('a'), id('z')] })
  expect((await cli.berth('project', 'transfer', 'nope', '--to', 'cloud')).stderr).toContain('No project named nope')
})
