import { type CatalogueEntry, contract } from '@berth/contract'
import type { Command } from 'commander'
import { type Connection, connect } from '../../credentials.ts'
import { CliError } from '../../exit-codes.ts'
import { columns, output } from '../../output.ts'
import { liveText, watchDeployment } from '../../watch-deployment.ts'

interface AddOptions {
  name?: string
  set: Record<string, string>
  wait: boolean
}

/** `berth catalogue` and `berth add`: templates of databases and applications. */
export function addCatalogue(program: Command): void {
  program
    .command('catalogue [search]')
    .description('list templates of databases and applications')
    .option('--category <category>', 'only templates of this category, such as databases')
    .action(async (search: string | undefined, { category }: { category?: string }, command: Command) => {
      const data = await allTemplates(connect(command), { search, category })
      output(command).result(data, () => (data.length === 0 ? 'No template found.' : table(data)))
    })

  program
    .command('add <template>')
    .description('create a project from a template of the catalogue, and deploy it')
    .option('--name <name>', 'name of the project (default: the title of the template)')
    .option('--set <NAME=value>', 'value of a variable of the template; can be repeated', setVariable, {})
    .option('--no-wait', 'return as soon as the deployment is queued')
    .action(async (templateId: string, { name, set, wait }: AddOptions, command: Command) => {
      const client = connect(command)
      const body = { ...(name ? { name } : {}), ...(Object.keys(set).length > 0 ? { variables: set } : {}) }
      const { data: project } = await client.call(contract.catalogue.add, { params: { templateId }, body })
      if (!wait) return output(command).result(project, () => `created ${project.slug} (${project.id})`)
      const { data: deployments } = await client.call(contract.projects.listDeployments, {
        params: { id: project.id },
        query: { limit: 1 },
      })
      if (!deployments[0]) throw new CliError(`${project.slug} has no deployment. Start one with berth redeploy.`)
      const deployment = await watchDeployment(client, deployments[0].id, output(command))
      output(command).result({ project, deployment }, () => `${project.slug} (${project.id}) is ${liveText(deployment)}`)
    })
}

function setVariable(text: string, before: Record<string, string>): Record<string, string> {
  const equalsIndex = text.indexOf('=')
  if (equalsIndex < 1) throw new CliError(`--set takes NAME=value, not ${JSON.stringify(text)}`, 2)
  return { ...before, [text.slice(0, equalsIndex)]: text.slice(equalsIndex + 1) }
}

async function allTemplates(
  client: Connection,
  { search, category }: { search: string | undefined; category: string | undefined },
): Promise<CatalogueEntry[]> {
  const query = { limit: 500, ...(search ? { search } : {}), ...(category ? { category: category as never } : {}) }
  return (await client.call(contract.catalogue.list, { query })).data
}

const table = (templates: readonly CatalogueEntry[]) =>
  columns([
    ['TEMPLATE', 'TITLE', 'VERSION', 'CATEGORY', 'DESCRIPTION'],
    ...templates.map(({ id, title, version, category, description }) => [id, title, version, category, description]),
  ])
