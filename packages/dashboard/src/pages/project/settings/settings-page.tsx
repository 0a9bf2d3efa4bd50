import { ProjectPage } from '../project-page.tsx'
import { BuildSection } from './build-section.tsx'
import { DeleteSection } from './delete-section.tsx'
import { GrantSection } from './grant-section.tsx'
import { HealthSection } from './health-section.tsx'
import { HooksSection } from './hooks-section.tsx'
import { MoveSection } from './move-section.tsx'
import { NameSection } from './name-section.tsx'
import { PowerSection } from './power-section.tsx'
import { VolumeSection } from './volume-section.tsx'

export function SettingsPage() {
  return (
    <ProjectPage title="Settings">
      {(project) => (
        <>
          <NameSection key={`name ${project.name}`} project={project} />
          <BuildSection key={`build ${project.id}`} project={project} />
          <HealthSection key={`health ${project.id}`} project={project} />
          {project.config.services.length === 0 && <VolumeSection key={`volumes ${project.id}`} project={project} />}
          <HooksSection project={project} />
          <GrantSection project={project} />
          <PowerSection project={project} />
          <MoveSection project={project} />
          <DeleteSection project={project} />
        </>
      )}
    </ProjectPage>
  )
}
