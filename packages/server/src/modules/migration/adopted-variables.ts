import { limits, secretMask } from '@berth/contract'
import type { ReadContainer, ReadImage } from '../../drivers/runtime/server/server-reader.ts'
import { ownEnv } from './own-env.ts'
import { plainText } from './plain-text.ts'
import { unusedName } from './unused-name.ts'

export interface AdoptedVariables {
  /** Variables by the names that the service uses. */
  environment: Record<string, string>
  /** Variables of the project, all of them secret. */
  variables: { key: string; value: string }[]
}

/**
 * Names that Docker accepts, such as `discovery.type` of Elasticsearch. The project variable that holds the value has a stricter
 * name.
 */
const variableName = /^[A-Za-z_][A-Za-z0-9_./-]*$/
const maxKeyLength = 255

/**
 * Stores each value as a variable of the project that the service refers to: two services may have different values under one
 * name. `variableNames` are those of all services of the adoption, since WEB_API_KEY may be web's API_KEY or web-api's KEY.
 */
export function adoptVariables(
  service: string,
  { container, image, variableNames }: { container: ReadContainer; image: ReadImage | undefined; variableNames: Set<string> },
  warn: (message: string) => void,
): AdoptedVariables {
  const result: AdoptedVariables = { environment: {}, variables: [] }
  const prefix = service
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^(?=\d)/, '_')
  for (const [key, value] of ownEnv(container, image)) {
    if (!isStorable(key, value, prefix)) {
      warn(
        `the variable ${plainText(key).slice(0, 80)} cannot be adopted: its name or value is too long or contains invalid characters`,
      )
      continue
    }
    const projectKey = unusedName(`${prefix}_${key.replace(/[^A-Za-z0-9_]/g, '_')}`, variableNames, '_')
    result.environment[key] = `\${${projectKey}}`
    result.variables.push({ key: projectKey, value })
  }
  return result
}

const isStorable = (key: string, value: string, prefix: string): boolean =>
  variableName.test(key) &&
  key !== '__proto__' &&
  key.length + prefix.length < maxKeyLength - 10 &&
  Buffer.byteLength(value) <= limits.envValueBytes &&
  !value.includes('\0') &&
  value.isWellFormed() &&
  value !== secretMask
