import type { UpdateProject } from '@berth/contract'
import { NumberInput, SimpleGrid, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'

const fields = [
  ['rootDirectory', 'Root directory', 'top folder'],
  ['installCommand', 'Install command', 'detected'],
  ['buildCommand', 'Build command', 'detected'],
  ['startCommand', 'Start command', 'detected'],
  ['outputDirectory', 'Output directory', 'detected'],
  ['dockerfilePath', 'Dockerfile', 'detected'],
  ['composePath', 'Compose file', 'detected'],
  ['composeProfiles', 'Compose profiles', 'none; comma-separated'],
  ['buildTarget', 'Dockerfile stage', 'last stage'],
  ['image', 'Image (instead of building)', 'none'],
] as const

export type BuildValues = { [K in (typeof fields)[number][0]]?: string } & { port?: number }

interface Props {
  values: BuildValues
  onChange(values: BuildValues): void
  /** The detected values, which are used for empty fields. */
  detected?: Partial<Record<string, unknown>> | null
  isReadOnly?: boolean
  /** Shows the field for an image. */
  hasImage?: boolean
  /** Additional fields in the same grid. */
  children?: ReactNode
}

/** Build settings; an empty field is detected at each build. */
export function BuildFields({ values, onChange, detected, isReadOnly, hasImage, children }: Props) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      {shownFields(hasImage).map(([name, label, defaultText]) => (
        <TextInput
          key={name}
          label={label}
          classNames={{ input: 'mono' }}
          placeholder={typeof detected?.[name] === 'string' ? (detected[name] as string) : defaultText}
          value={values[name] ?? ''}
          readOnly={isReadOnly}
          onChange={(event) => onChange({ ...values, [name]: event.currentTarget.value })}
        />
      ))}
      <NumberInput
        label="Port"
        description="PORT in a container; a plain process gets a free port"
        min={1}
        max={65535}
        placeholder={detected?.port ? String(detected.port) : '3000'}
        value={values.port ?? ''}
        readOnly={isReadOnly}
        onChange={(port) => onChange({ ...values, port: typeof port === 'number' ? port : undefined })}
      />
      {children}
    </SimpleGrid>
  )
}

const shownFields = (hasImage = false) => fields.filter(([name]) => hasImage || name !== 'image')

/** The filled-in fields, as a request body. */
export const buildBody = (values: BuildValues): UpdateProject =>
  Object.fromEntries(
    Object.entries(values)
      .filter(([, value]) => value !== undefined && value !== '')
      .map(([name, value]) => [name, toBodyValue(name, value)]),
  )

/** Profiles are entered as one text. */
const toBodyValue = (name: string, value: string | number | undefined) =>
  name === 'composeProfiles' && typeof value === 'string' ? value.split(/[\s,]+/).filter(Boolean) : value

/** All fields; an empty one becomes automatic again. The port is sent only if it was changed: a detected port stays detected. */
export const buildChanges = ({ port, ...texts }: BuildValues, portBefore: number): UpdateProject => ({
  ...Object.fromEntries(Object.entries(texts).map(([name, value]) => [name, value ? toBodyValue(name, value) : null])),
  ...(port === portBefore ? {} : { port: port ?? null }),
})
