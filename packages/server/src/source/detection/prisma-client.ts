import { dig, textOf } from '../values.ts'
import { javascriptTools } from './javascript-tools.ts'
import { has } from './signs.ts'
import type { App, Plan } from './stack.ts'

const schemas = ['prisma/schema.prisma', 'schema.prisma', 'prisma.config.ts', 'prisma.config.js']
const generates = /\b(?:prisma|zenstack)(?: +-\S+)* +generate\b/

/**
 * Adds `prisma generate` to the build. Prisma's own install script generates no client in its newer versions, and none where
 * install scripts are disabled.
 */
export async function withPrismaClient(app: App, plan: Plan): Promise<Plan> {
  if (plan.ecosystem === 'python' || !has(app, 'npm', '@prisma/client') || !has(app, 'npm', 'prisma')) return plan
  const { folder, manifests } = app
  const commands = [plan.installCommand, plan.buildCommand, plan.startCommand, ...(manifests.npm?.scripts.values() ?? [])]
  if (plan.apps?.length || commands.some((command) => command && generates.test(command))) return plan
  const named = textOf(dig(await folder.json('package.json'), 'prisma', 'schema'))
  const schema = [named, ...schemas].find((path) => path && folder.has(path))
  if (!schema) return plan
  const generate = (await javascriptTools(app)).tool('prisma generate')
  return {
    ...plan,
    buildCommand: plan.buildCommand ? `${generate} && ${plan.buildCommand}` : generate,
    evidence: [...(plan.evidence ?? []), { file: folder.full(schema), says: 'the Prisma client is generated before the build' }],
  }
}
