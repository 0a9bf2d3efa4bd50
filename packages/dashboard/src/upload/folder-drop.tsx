import { Button, Group, Progress, Text } from '@mantine/core'
import { IconFolderUp } from '@tabler/icons-react'
import { type DragEvent, useEffect, useRef, useState } from 'react'
import { ErrorState } from '../components/error-state.tsx'
import { submitting } from '../components/submitting.ts'
import { sizeText } from '../text/sizes.ts'
import classes from './folder-drop.module.css'
import { type Folder, folderOfDrop, folderOfInput } from './folder-files.ts'
import { type SentFolder, sendFolder, type UploadProgress } from './send-folder.ts'

interface Props {
  onSent(folder: SentFolder, name: string): void
  /** The upload is only for this project. */
  projectId?: string
}

const steps = { packing: 'Packing', sending: 'Sending', detecting: 'Detecting the project' }

/** A drop area for a folder, which is then uploaded. */
export function FolderDrop({ onSent, projectId }: Props) {
  const [progress, setProgress] = useState<UploadProgress>()
  const [error, setError] = useState<unknown>()
  const [envQuestion, setEnvQuestion] = useState<{ folder: Folder; decide(isIncluded: boolean): void }>()
  const [isDragOver, setDragOver] = useState(false)
  const input = useRef<HTMLInputElement>(null)
  const isClosed = useRef(false)
  useEffect(() => {
    isClosed.current = false
    return () => {
      isClosed.current = true
    }
  }, [])
  const upload = async (folder: Promise<Folder> | Folder) => {
    setError(undefined)
    setProgress({ step: 'packing', done: 0, total: 1 })
    try {
      const chosen = await folder
      const isIncluded =
        chosen.envFiles.length === 0 || (await new Promise<boolean>((decide) => setEnvQuestion({ folder: chosen, decide })))
      setEnvQuestion(undefined)
      const files = isIncluded ? [...chosen.files, ...chosen.envFiles] : chosen.files
      const sent = await sendFolder({ ...chosen, files }, setProgress, projectId)
      // The form was closed: the upload is not used.
      if (!isClosed.current) onSent(sent, chosen.name)
    } catch (reason) {
      setError(reason)
    } finally {
      setProgress(undefined)
    }
  }
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setDragOver(false)
    void upload(folderOfDrop(event.dataTransfer.items))
  }
  return (
    <div className={classes.container}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the button inside does the same without a mouse */}
      <div
        className={classes.drop}
        data-over={isDragOver || undefined}
        onDragOver={submitting(() => setDragOver(true))}
        onDragLeave={() => setDragOver(false)}
        onDrop={drop}
      >
        <IconFolderUp size={36} stroke={1.3} aria-hidden />
        {envQuestion ? (
          <EnvFilesQuestion paths={envQuestion.folder.envFiles.map(({ path }) => path)} onDecided={envQuestion.decide} />
        ) : progress ? (
          <UploadBar {...progress} />
        ) : (
          <>
            <Text fw={600} className={classes.dropText}>
              Drop a folder here
            </Text>
            <Group gap="xs" justify="center">
              <Button variant="default" onClick={() => input.current?.click()}>
                Choose a folder
              </Button>
            </Group>
            <Text size="xs" c="dimmed">
              node_modules and .git are not uploaded. At most 300 MB packed.
            </Text>
          </>
        )}
        <input
          ref={input}
          type="file"
          className={classes.input}
          aria-label="Folder to upload"
          tabIndex={-1}
          {...{ webkitdirectory: '' }}
          multiple
          onChange={({ currentTarget }) => currentTarget.files?.length && void upload(folderOfInput(currentTarget.files))}
        />
      </div>
      {error !== undefined && <ErrorState error={error} />}
    </div>
  )
}

const maxNamed = 5

function EnvFilesQuestion({ paths, onDecided }: { paths: readonly string[]; onDecided(isIncluded: boolean): void }) {
  const more = paths.length > maxNamed ? ` and ${paths.length - maxNamed} more` : ''
  return (
    <div role="alert">
      <Text fw={600}>The folder contains .env files</Text>
      <Text size="sm" my="xs" className="wrap-anywhere">
        {paths.slice(0, maxNamed).join(', ')}
        {more}. They usually contain secrets and become part of the build. Set the variables in the next step or on the Variables
        page instead.
      </Text>
      <Group gap="xs" justify="center">
        <Button onClick={() => onDecided(false)}>Upload without them</Button>
        <Button variant="default" onClick={() => onDecided(true)}>
          Include them
        </Button>
      </Group>
    </div>
  )
}

function UploadBar({ step, done, total }: UploadProgress) {
  const percent = total > 0 ? Math.min(100, (100 * done) / total) : 100
  return (
    <div className={classes.bar}>
      <Text size="sm" mb={6}>
        {steps[step]}
        {step !== 'detecting' && ` · ${sizeText(done)} of ${sizeText(total)}`}
      </Text>
      <Progress value={percent} animated={step === 'detecting'} aria-label={`${steps[step]}, ${Math.round(percent)} percent`} />
    </div>
  )
}
