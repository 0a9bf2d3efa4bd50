import { jsonColumn, sealedJson } from './json-column.ts'
import { anyObject, textByName } from './shapes.ts'

export const channelJson = {
  config: jsonColumn('notificationChannels', 'config', anyObject),
  secrets: sealedJson('notificationChannels.secrets', textByName),
}

export const announcementJson = {
  data: jsonColumn('announcements', 'data', anyObject),
}
