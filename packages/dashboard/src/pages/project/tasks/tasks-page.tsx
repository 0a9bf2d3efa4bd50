import { type CronJob, contract } from '@berth/contract'
import { useState } from 'react'
import { Loaded } from '../../../components/loaded.tsx'
import { Section } from '../../../components/section.tsx'
import { useProjectId } from '../../../data/project.ts'
import { useRead } from '../../../data/read.ts'
import { ProjectPage } from '../project-page.tsx'
import { AddTask } from './add-task.tsx'
import { RunHistory } from './run-history.tsx'
import { TaskTable } from './task-table.tsx'

/** Scheduled tasks of the project, and the runs of the selected one. */
export function TasksPage() {
  const id = useProjectId()
  const [selected, select] = useState<CronJob>()
  const tasks = useRead(contract.tasks.list, { params: { id }, query: {} }, { refetchIntervalMs: 5000 })
  const isListed = tasks.data?.some((task) => task.id === selected?.id)
  return (
    <ProjectPage
      title="Scheduled tasks"
      description="A task runs a command with the live version, in a container of its own, at the times of its schedule."
    >
      {() => (
        <>
          <Section isFlush>
            <Loaded query={tasks}>{(rows) => <TaskTable projectId={id} tasks={rows} onSelect={select} />}</Loaded>
          </Section>
          {selected && isListed && <RunHistory key={selected.id} projectId={id} task={selected} />}
          <AddTask projectId={id} isFirst={tasks.data?.length === 0} />
        </>
      )}
    </ProjectPage>
  )
}
