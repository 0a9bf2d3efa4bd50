import type { BackupRun } from '@berth/contract'
import { Text } from '@mantine/core'
import { ByteBar } from '../../../components/byte-bar.tsx'
import { StatusBadge } from '../../../components/status-badge.tsx'
import { useLiveRun } from '../../../data/backup-streams.ts'
import { isRunning } from '../../../rules/backup-actions.ts'

/** The status of a run, updated live until it ends. */
export function RunState({ run: read }: { run: BackupRun }) {
  const { run, progress } = useLiveRun(read)
  return (
    <div>
      <StatusBadge status={run.status} />
      {isRunning(run) && (
        <ByteBar
          label="Backup"
          done={progress?.bytesDone ?? run.bytesDone}
          total={progress?.bytesTotal ?? run.bytesTotal}
          perSecond={progress?.bytesPerSecond}
        />
      )}
      {(run.error ?? run.warning) && (
        <Text size="xs" c="dimmed">
          {run.error?.message ?? run.warning}
        </Text>
      )}
    </div>
  )
}
