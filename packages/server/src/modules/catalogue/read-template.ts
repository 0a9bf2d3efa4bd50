import type { Service } from '@berth/contract'
import { Ajv, type ValidateFunction } from 'ajv'
import { parseYaml } from '../../source/bounded-yaml.ts'
import { readCompose, toProjectServices } from '../../source/compose/index.ts'
import { Header } from './header-shape.ts'

/** A template: its header, and the services of its Compose file with references to its variables. */
export interface Template extends Header {
  id: string
  services: Service[]
}

export interface TemplateFiles {
  /** Name of the folder. */
  id: string
  /** `template.yaml`. */
  header: string
  /** `compose.yaml`. */
  compose: string
}

/** A template of the installation is invalid. */
export class TemplateInvalid extends Error {
  override readonly name = 'TemplateInvalid'

  constructor(id: string, reason: string) {
    super(`The template ${id} is invalid: ${reason}`)
  }
}

let validate: ValidateFunction<Header> | undefined

/** Reads a template from the content of its files. Throws `TemplateInvalid`. */
export function readTemplate({ id, header: headerText, compose }: TemplateFiles): Template {
  validate ??= new Ajv({ strict: false }).compile<Header>(Header)
  const header = parseYaml(headerText)
  if (!validate(header)) {
    const [problem] = validate.errors ?? []
    throw new TemplateInvalid(id, `template.yaml${problem?.instancePath ?? ''} ${problem?.message ?? ''}`)
  }
  return { ...header, id, services: servicesOf(id, header, compose) }
}

/** The services of the Compose file. `${NAME}` of a variable stays a reference, which the deployment resolves. */
function servicesOf(id: string, { variables, exposed }: Header, compose: string): Service[] {
  const env = Object.fromEntries(variables.map(({ name }) => [name, `\${${name}}`]))
  const file = readCompose(compose, { folder: '/template', env })
  const { services, warnings, refused, files } = toProjectServices(file)
  const problems = [...file.refused, ...refused, ...file.warnings, ...warnings].map(({ path, message }) => `${path}: ${message}`)
  const missing = file.missing.map(({ variable }) => `${variable} is not a variable of the template`)
  const [problem] = [...problems, ...missing]
  if (problem) throw new TemplateInvalid(id, `compose.yaml: ${problem}`)
  if (Object.keys(files).length > 0) throw new TemplateInvalid(id, 'compose.yaml: configs and secrets are not supported')
  return services.map((service) => ({ ...service, exposed: service.name === exposed }))
}
