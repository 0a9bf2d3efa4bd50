import { afterEach, expect, test, vi } from 'vitest'
import { cliFixture } from '../../cli-fixture.ts'
import { readLink } from '../../project-link.ts'
import { prompts } from '../../prompt.ts'

const streams = [process.stdin, process.stderr]
const before = streams.map(({ isTTY }) => isTTY)
afterEach(() => {
  for (const [at, stream] of streams.entries()) Object.assign(stream, { isTTY: before[at] })
})

test.each([true, false])('at a terminal berth git link offers to create the project (answer: %s)', async (answer) => {
  for (const stream of streams) Object.assign(stream, { isTTY: true })
  using _confirm = vi.spyOn(prompts, 'confirm').mockResolvedValue(answer)
  await using cli = await cliFixture(({ path, method }) => {
    if (path === '/projects' && method === 'POST') return { body: { data: { id: 'prj_new', name: 'shop' } } }
    if (path === '/projects/prj_new/git') return { body: { data: { webhook: { active: false, url: null } } } }
    if (path.startsWith('/git'))
      return { body: { data: { fullName: 'acme/shop', cloneUrl: 'https://x.test/acme/shop', defaultBranch: 'main' } } }
    return {}
  })
  const { code, stderr } = await cli.berth('git', 'link', 'acme/shop')
  const created = cli.requests.filter(({ path, method }) => path === '/projects' && method === 'POST').map(({ body }) => body)
  if (answer) {
    expect({ code, created }).toEqual({ code: 0, created: [{ name: 'shop', gitProvider: 'upload' }] })
    expect(readLink(cli.folder)).toMatchObject({ projectId: 'prj_new' })
  } else {
    expect({ code, created }).toEqual({ code: 2, created: [] })
    expect(stderr).toContain('Run berth init first')
  }
})
