import { Alert, SegmentedControl } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { ErrorState } from '../../components/error-state.tsx'
import { Page } from '../../components/page.tsx'
import { Section } from '../../components/section.tsx'
import { useRefusal } from '../../data/refusal.ts'
import { ConfigureProject } from './configure-project.tsx'
import { ExampleSource } from './example-source.tsx'
import { FolderSource } from './folder-source.tsx'
import { ImageSource } from './image-source.tsx'
import { PathSource } from './path-source.tsx'
import { RepositorySource } from './repository-source.tsx'
import { ServerSource } from './server-source.tsx'
import type { ChosenSource } from './source.ts'

const ways = [
  { value: 'folder', label: 'Folder' },
  { value: 'repository', label: 'Repository' },
  { value: 'image', label: 'Image' },
  { value: 'path', label: 'Path' },
  { value: 'server', label: 'Server' },
  { value: 'example', label: 'Example' },
]
const choosers = {
  folder: FolderSource,
  repository: RepositorySource,
  image: ImageSource,
  path: PathSource,
  server: ServerSource,
  example: ExampleSource,
}

/** Creates a project: choose the source, then set the build settings and variables, then deploy. */
export function NewProjectPage() {
  const { from = 'folder' } = useSearch({ strict: false }) as { from?: keyof typeof choosers }
  const navigate = useNavigate()
  const refusal = useRefusal('project:write')
  const [source, setSource] = useState<ChosenSource>()
  const [error, setError] = useState<unknown>()
  const isNarrow = useMediaQuery('(max-width: 36em)')
  const Chooser = choosers[from] ?? FolderSource
  return (
    <Page title="New project" description="Berth detects the build settings from the source. You can change them later.">
      {refusal && (
        <Alert color="yellow" title="You cannot create projects">
          {refusal}
        </Alert>
      )}
      {refusal ? null : source ? (
        <ConfigureProject source={source} onBack={() => setSource(undefined)} />
      ) : (
        <Section title="Source">
          <SegmentedControl
            fullWidth
            // Six labels do not fit in one row on a phone.
            orientation={isNarrow ? 'vertical' : 'horizontal'}
            mb="lg"
            aria-label="Source"
            data={ways}
            value={from}
            onChange={(value) => {
              setError(undefined)
              void navigate({ to: '/new', search: { from: value } as never, replace: true })
            }}
          />
          <Chooser onChosen={setSource} onError={setError} />
          {error !== undefined && <ErrorState mt="md" error={error} />}
        </Section>
      )}
    </Page>
  )
}
