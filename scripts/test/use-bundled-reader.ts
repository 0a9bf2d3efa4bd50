import { inject } from 'vitest'
import { folderReader } from '../../packages/server/src/drivers/reader/folder-reader.ts'

folderReader.useEntry(inject('readerEntry'))
