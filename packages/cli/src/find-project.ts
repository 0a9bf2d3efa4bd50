import { contract, type Project, type ReplyOf } from '@berth/contract'
import type { Command } from 'commander'
import { type Connection, connect } from './credentials.ts'
import { CliError } from './exit-codes.ts'

type Named = Pick<Project, 'id' | 'slug' | 'name'>

const maxListed = 10

/** Replaces the values of `--project` by project ids, before the command runs. */
export async function resolveProjectOption(command: Command): Promise<void> {
  const projectOption = command.opts().project as string | string[] | undefined
  if (projectOption === undefined || [projectOption].flat().every(isId)) return
  const client = connect(command)
  const list = await client.call(contract.projects.home)
  command.setOptionValue(
    'project',
    Array.isArray(projectOption) ? projectOption.map((one) => idIn(list, one)) : idIn(list, projectOption),
  )
}

/** The id of the project with this id, slug or name. An id is taken as it is: a token may lack the permission to list projects. */
export async function findProject(client: Pick<Connection, 'call'>, projectRef: string): Promise<string> {
  return isId(projectRef) ? projectRef : idIn(await client.call(contract.projects.home), projectRef)
}

function idIn({ data, cloud }: ReplyOf<typeof contract.projects.home>, projectRef: string): string {
  if (isId(projectRef)) return projectRef
  const found = findMatches(data, projectRef)
  if (found.length === 1) return found[0]!.id
  if (found.length > 1) throw new CliError(severalText(projectRef, found), 2)
  const missing = cloud.linked && !cloud.reachable ? ' The cloud is unreachable: its projects are not listed.' : ''
  throw new CliError(`No project named ${projectRef}. ${projectsText(data)}${missing}`, 5)
}

const isId = (text: string) => /^prj_[a-z2-7]{20}$/.test(text)

/** A slug wins over a name, and an exact name over one in other case. */
function findMatches(projects: readonly Named[], projectRef: string): readonly Named[] {
  const lowerCase = projectRef.toLowerCase()
  const bySlug = projects.filter(({ slug }) => slug === projectRef)
  const byName = projects.filter(({ name }) => name === projectRef)
  const inOtherCase = projects.filter(({ name }) => name.toLowerCase() === lowerCase)
  return [bySlug, byName, inOtherCase].find((found) => found.length > 0) ?? []
}

const severalText = (projectRef: string, found: readonly Named[]) =>
  `Several projects are named ${projectRef}. Use a slug or an id: ${limitedList(found.map(({ slug, id }) => `${slug} (${id})`))}.`

const projectsText = (projects: readonly Named[]) =>
  projects.length > 0
    ? `Projects here: ${limitedList(projects.map(({ slug }) => slug))}.`
    : 'There are no projects yet. Run berth deploy in a folder to create one.'

const limitedList = (names: readonly string[]) =>
  names.slice(0, maxListed).join(', ') + (names.length > maxListed ? ` and ${names.length - maxListed} more (berth list)` : '')
