import { SimpleGrid, Switch, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import { MoreFields } from '../../../components/more-fields.tsx'
import type { PolicyForm } from '../../../rules/policy-form.ts'

interface Props {
  form: PolicyForm
  set(change: Partial<PolicyForm>): void
  volumes: readonly string[]
}

/**
 * The content of a backup, and the commands before and after it; collapsed, since the defaults (everything, no commands) usually
 * fit.
 */
export function PayloadFields({ form, set, volumes }: Props) {
  // The state when the form was opened: clearing a field must not collapse the section.
  const [isOpen] = useState(!!form.volumes || !!form.exclude || !form.dumpsDatabases || !!form.preCommand || !!form.postCommand)
  const text = (name: 'volumes' | 'exclude' | 'preCommand' | 'postCommand') => ({
    classNames: { input: 'mono' },
    spellCheck: false,
    value: form[name],
    onChange: (event: { currentTarget: { value: string } }) => set({ [name]: event.currentTarget.value }),
  })
  return (
    <MoreFields label="Content and commands" isOpen={isOpen}>
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <Textarea
          label="Only these volumes"
          description={volumes.length > 0 ? `One per line. Volumes: ${volumes.join(', ')}` : 'One per line'}
          placeholder="all volumes"
          autosize
          minRows={2}
          {...text('volumes')}
        />
        <Textarea
          label="Exclude"
          description="Patterns as in .gitignore, one per line"
          placeholder={'cache/\n*.tmp'}
          autosize
          minRows={2}
          {...text('exclude')}
        />
      </SimpleGrid>
      <Switch
        label="Dump databases with their own tools"
        checked={form.dumpsDatabases}
        onChange={(event) => set({ dumpsDatabases: event.currentTarget.checked })}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <TextInput label="Command before" description="Runs inside the service" maxLength={500} {...text('preCommand')} />
        <TextInput
          label="Command after"
          description="Runs always, also after a failure"
          maxLength={500}
          {...text('postCommand')}
        />
      </SimpleGrid>
    </MoreFields>
  )
}
