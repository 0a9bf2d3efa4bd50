import { statfs } from 'node:fs/promises'
import { type MetricSource, metricSource } from '../../platform/metrics/metric-source.ts'

export const instanceMetrics = ({ version, mode }: { version: string; mode: string }): MetricSource =>
  metricSource({ berth_build_info: { type: 'gauge', help: 'Version and mode of the instance; the value is always 1.' } }, () => ({
    berth_build_info: [{ labels: { version, mode }, value: 1 }],
  }))

export const diskMetrics = (dataDir: string): MetricSource =>
  metricSource(
    {
      berth_data_folder_free_bytes: { type: 'gauge', help: 'Free space of the file system of the data folder.' },
      berth_data_folder_size_bytes: { type: 'gauge', help: 'Size of the file system of the data folder.' },
      berth_data_folder_free_inodes: { type: 'gauge', help: 'Free inodes of the file system of the data folder.' },
    },
    async () => {
      const { bsize, bavail, blocks, ffree } = await statfs(dataDir)
      return {
        berth_data_folder_free_bytes: [{ value: bavail * bsize }],
        berth_data_folder_size_bytes: [{ value: blocks * bsize }],
        berth_data_folder_free_inodes: [{ value: ffree }],
      }
    },
  )
