import { contract, type Project, type ReplyOf } from '@berth/contract'
import type { Command } from 'commander'
import { type Connection, connect } from './credentials.ts'
import { CliError } from './exit-codes.ts'

type Named = Pick<Project, 'id' | 'slug' | 'name'>

const listed = 10

/** Replaces the values of `--project` by project ids, before the command runs. */
export async function resolveProjectOption(command: Command): Promise<void> {
  const given = command.opts().project as string | string[] | undefined
  if (given === undefined || [given].flat().every(isId)) return
  const client = connect(command)
  const list = await client.call(contract.projects.home)
  command.setOptionValue('project', Array.isArray(given) ? given.map((one) => idIn(list, one)) : idIn(list, given))
}

/** The id of the project with this id, slug or name. An id is taken as it is: a token may lack the permission to list projects. */
export async function findProject(client: Pick<Connection, 'call'>, wanted: string): Promise<string> {
  return isId(wanted) ? wanted : idIn(await client.call(contract.projects.home), wanted)
}

function idIn({ data, cloud }: ReplyOf<typeof contract.projects.home>, wanted: string): string {
  if (isId(wanted)) return wanted
  const found = matching(data, wanted)
  if (found.length === 1) return found[0]!.id
  if (found.length > 1) throw new CliError(severalText(wanted, found), 2)
  const missing = cloud.linked && !cloud.reachable ? ' The cloud is unreachable: its projects are not listed.' : ''
  throw new CliError(`No project named ${wanted}. ${projectsText(data)}${missing}`, 5)
}

const isId = (text: string) => /^prj_[a-z2-7]{20}$/.test(text)

/** A slug wins over a name, and an exact name over one in other case. */
function matching(projects: readonly Named[], wanted: string): readonly Named[] {
  const lowerCase = wanted.toLowerCase()
  const bySlug = projects.filter(({ slug }) => slug === wanted)
  const byName = projects.filter(({ name }) => name === wanted)
  const inOtherCase = projects.filter(({ name }) => name.toLowerCase() === lowerCase)
  return [bySlug, byName, inOtherCase].find((found) => found.length > 0) ?? []
}

const severalText = (wanted: string, found: readonly Named[]) =>
  `Several projects are named ${wanted}. Use a slug or an id: ${bounded(found.map(({ slug, id }) => `${slug} (${id})`))}.`

const projectsText = (projects: readonly Named[]) =>
  projects.length > 0
    ? `Projects here: ${bounded(projects.map(({ slug }) => slug))}.`
    : 'There are no projects yet. Run berth deploy in a folder to create one.'

const bounded = (names: readonly string[]) =>
  names.slice(0, listed).join(', ') + (names.length > listed ? ` and ${names.length - listed} more (berth list)` : '')
