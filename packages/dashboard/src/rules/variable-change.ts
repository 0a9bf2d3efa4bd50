import { type EnvVariable, secretMask } from '@berth/contract'

/** Change of a variable from its form. An empty field keeps a stored secret, whose value the form does not know. */
export const variableChange = (stored: Pick<EnvVariable, 'key' | 'isSecret'>, value: string, isSecret: boolean) => ({
  key: stored.key,
  value: stored.isSecret && value === '' ? secretMask : value,
  isSecret,
})
