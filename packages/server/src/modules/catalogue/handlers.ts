import type { contract } from '@berth/contract'
import type { Handlers } from '../../http/handler.ts'
import { BadCursor } from '../../platform/db/pages.ts'
import { fail } from '../../platform/failure.ts'
import { addTemplate, unavailableReason } from './add-template.ts'
import type { CatalogueDeps } from './deps.ts'
import { matches, showEntry, showTemplate } from './show-template.ts'

export function catalogueHandlers(deps: CatalogueDeps): Handlers<typeof contract.catalogue> {
  const { catalogue } = deps
  const find = async (id: string) =>
    (await catalogue.find(id)) ??
    fail('not_found', {
      message: `The catalogue has no template ${JSON.stringify(id.slice(0, 100))}. GET /catalogue lists them.`,
    })
  return {
    list: async ({ query: { search = '', category, limit = 100, cursor } }) => {
      const found = (await catalogue.all()).filter(
        (template) => (!category || template.category === category) && matches(template, search),
      )
      // The cursor is the id of the last template of a page.
      const start = cursor === undefined ? 0 : found.findIndex(({ id }) => id === cursor) + 1
      if (cursor !== undefined && start === 0) throw new BadCursor()
      const page = found.slice(start, start + limit)
      return { data: page.map(showEntry), nextCursor: start + limit < found.length ? (page.at(-1)?.id ?? null) : null }
    },
    get: async ({ params }) => {
      const template = await find(params.templateId)
      return { data: showTemplate(template, unavailableReason(template, deps)) }
    },
    add: async ({ params, body }, { caller, audit }) => {
      const template = await find(params.templateId)
      audit({ objectKind: 'project', made: 'prj' })
      return addTemplate(template, body ?? {}, caller, deps)
    },
  }
}
