import { Button, Group, Progress, Text } from '@mantine/core'
import { IconFolderUp } from '@tabler/icons-react'
import { type DragEvent, useRef, useState } from 'react'
import { ErrorState } from '../components/error-state.tsx'
import { submitting } from '../components/submitting.ts'
import { sizeText } from '../text/sizes.ts'
import classes from './folder-drop.module.css'
import { type Folder, folderOfDrop, folderOfInput } from './folder-files.ts'
import { type SentFolder, sendFolder, type UploadProgress } from './send-folder.ts'

interface Props {
  onSent(folder: SentFolder, name: string): void
  /** The upload is for this project alone. */
  projectId?: string
}

const steps = { packing: 'Packing', sending: 'Sending', looking: 'Detecting the project' }

/** A place to drop a folder on, and its way to the server. */
export function FolderDrop({ onSent, projectId }: Props) {
  const [progress, setProgress] = useState<UploadProgress>()
  const [error, setError] = useState<unknown>()
  const [isOver, setOver] = useState(false)
  const input = useRef<HTMLInputElement>(null)
  const take = async (folder: Promise<Folder> | Folder) => {
    setError(undefined)
    setProgress({ step: 'packing', done: 0, total: 1 })
    try {
      const given = await folder
      onSent(await sendFolder(given, setProgress, projectId), given.name)
    } catch (reason) {
      setError(reason)
    } finally {
      setProgress(undefined)
    }
  }
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setOver(false)
    void take(folderOfDrop(event.dataTransfer.items))
  }
  return (
    <div className={classes.place}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the button inside does the same without a mouse */}
      <div
        className={classes.drop}
        data-over={isOver || undefined}
        onDragOver={submitting(() => setOver(true))}
        onDragLeave={() => setOver(false)}
        onDrop={drop}
      >
        <IconFolderUp size={36} stroke={1.3} aria-hidden />
        {progress ? (
          <UploadBar {...progress} />
        ) : (
          <>
            <Text fw={600}>Drop a folder here</Text>
            <Group gap="xs" justify="center">
              <Button variant="default" onClick={() => input.current?.click()}>
                Choose a folder
              </Button>
            </Group>
            <Text size="xs" c="dimmed">
              node_modules and .git stay where they are. At most 300 MB packed.
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
          onChange={({ currentTarget }) => currentTarget.files?.length && void take(folderOfInput(currentTarget.files))}
        />
      </div>
      {error !== undefined && <ErrorState error={error} />}
    </div>
  )
}

function UploadBar({ step, done, total }: UploadProgress) {
  const share = total > 0 ? Math.min(100, (100 * done) / total) : 100
  return (
    <div className={classes.bar}>
      <Text size="sm" mb={6}>
        {steps[step]}
        {step !== 'looking' && ` · ${sizeText(done)} of ${sizeText(total)}`}
      </Text>
      <Progress value={share} animated={step === 'looking'} aria-label={`${steps[step]}, ${Math.round(share)} percent`} />
    </div>
  )
}
