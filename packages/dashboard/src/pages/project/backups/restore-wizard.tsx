import { type BackupRestore, type BackupRun, contract, type Progress, type Project, terminalRestore } from '@berth/contract'
import { Alert, Button, Group, Modal, Radio, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../../components/action-button.tsx'
import { ByteBar } from '../../../components/byte-bar.tsx'
import { StatusBadge } from '../../../components/status-badge.tsx'
import { useLiveRestore } from '../../../data/backup-streams.ts'
import { useChange } from '../../../data/change.ts'
import { applyRefusal } from '../../../rules/backup-actions.ts'
import { RestoreOutcome } from './restore-outcome.tsx'
import { RestoreReportView } from './restore-report.tsx'

interface Props {
  run: BackupRun
  project: Pick<Project, 'name'>
  onClose(): void
}

/** Stages a restore, shows its changes, applies it after confirmation, and can undo it. */
export function RestoreWizard({ run, project, onClose }: Props) {
  const [target, setTarget] = useState<BackupRestore['target']>('in_place')
  const [prepared, setPrepared] = useState<{ restoreId: string; confirmationToken: string }>()
  const prepare = useChange(contract.backups.prepareRestore)
  const apply = useChange(contract.backups.applyRestore)
  const cancel = useChange(contract.backups.cancelRestore)
  const { restore, progress } = useLiveRestore(prepared?.restoreId)
  const params = { restoreId: prepared?.restoreId ?? '' }
  const start = (runId: string, isUndo = false) =>
    prepare.mutate(
      { params: { runId }, body: { target: isUndo ? 'in_place' : target } },
      {
        onSuccess: ({ data }) => {
          setPrepared(data)
          // An undo needs no confirmation: it puts back the previous data.
          if (isUndo) apply.mutate({ params: { restoreId: data.restoreId }, body: { confirmationToken: data.confirmationToken } })
        },
      },
    )
  const close = () => {
    if (restore?.status === 'staged' && !apply.isPending) cancel.mutate({ params })
    onClose()
  }
  return (
    <Modal
      opened
      onClose={close}
      title={`Restore ${project.name}`}
      size="lg"
      closeButtonProps={{ 'aria-label': 'Close' }}
      closeOnClickOutside={false}
    >
      {!prepared && (
        <TargetChoice
          target={target}
          onTarget={setTarget}
          isPending={prepare.isPending}
          onNext={() => start(run.id)}
          onCancel={close}
        />
      )}
      {prepared && !restore && <Text role="status">Staging…</Text>}
      {restore?.status === 'staged' && (
        <Staged
          restore={restore}
          progress={progress}
          projectName={project.name}
          isPending={apply.isPending}
          onApply={() => prepared && apply.mutate({ params, body: { confirmationToken: prepared.confirmationToken } })}
          onCancel={close}
        />
      )}
      {restore?.status === 'applying' && (
        <Stack>
          <StatusBadge status="applying" />
          <ByteBar
            label="Restore"
            done={progress?.bytesDone ?? restore.bytesDone}
            total={progress?.bytesTotal ?? restore.bytesTotal}
          />
        </Stack>
      )}
      {restore && terminalRestore.has(restore.status) && (
        <RestoreOutcome
          restore={restore}
          onUndo={(runId) => start(runId, true)}
          isUndoing={prepare.isPending}
          onClose={onClose}
        />
      )}
    </Modal>
  )
}

interface TargetProps {
  target: BackupRestore['target']
  onTarget(target: BackupRestore['target']): void
  isPending: boolean
  onNext(): void
  onCancel(): void
}

const TargetChoice = ({ target, onTarget, isPending, onNext, onCancel }: TargetProps) => (
  <Stack>
    <Radio.Group label="Restore to" value={target} onChange={(value) => onTarget(value as BackupRestore['target'])}>
      <Stack gap="xs" mt="xs">
        <Radio
          value="in_place"
          label="In place: replace the current data"
          description="The current data is backed up first, so the restore can be undone."
        />
        <Radio value="copy" label="As a copy" description="The current data is not changed." />
      </Stack>
    </Radio.Group>
    <Text size="sm" c="dimmed">
      Next, the backup is fetched and checked, and you see what would change. No data changes before you confirm.
    </Text>
    <Group justify="flex-end">
      <Button variant="default" onClick={onCancel}>
        Cancel
      </Button>
      <Button onClick={onNext} loading={isPending}>
        Check the backup
      </Button>
    </Group>
  </Stack>
)

interface StagedProps {
  restore: BackupRestore
  progress: Progress | undefined
  projectName: string
  isPending: boolean
  onApply(): void
  onCancel(): void
}

function Staged({ restore, progress, projectName, isPending, onApply, onCancel }: StagedProps) {
  const [typed, setTyped] = useState('')
  const refusal = applyRefusal(restore) ?? (typed === projectName ? undefined : `Type ${projectName} first.`)
  const { verification, report } = restore
  return (
    <Stack>
      {verification.status !== 'passed' && (
        <div>
          <Text size="sm" mb={4}>
            Checking the backup…
          </Text>
          <ByteBar
            label="Check"
            done={progress?.bytesDone ?? verification.bytesDone}
            total={progress?.bytesTotal ?? verification.bytesTotal}
          />
        </div>
      )}
      {verification.status === 'passed' && <Alert color="teal">The backup is intact: all data was read and verified.</Alert>}
      {report && <RestoreReportView report={report} />}
      <TextInput
        label={`Type ${projectName} to confirm`}
        autoComplete="off"
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
      <Group justify="flex-end">
        <Button variant="default" onClick={onCancel}>
          Cancel
        </Button>
        <ActionButton color="red" refusal={refusal} loading={isPending} onClick={onApply}>
          Restore now
        </ActionButton>
      </Group>
    </Stack>
  )
}
