import type { Logger } from '../../streams/core/ports.ts';
import { createLogger } from '../telemetry/logger.ts';
import type { CommandContext } from './context.ts';

/** Commands log only warnings unless TURNSTREAM_LOG_LEVEL is set. */
export const commandLogger = (context: CommandContext): Logger =>
  createLogger({ level: context.env['TURNSTREAM_LOG_LEVEL'] ?? 'warn', role: 'command' });
