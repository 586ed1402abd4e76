import { Command } from 'commander';
import { exitCodes } from '../../app/exit-codes.ts';
import type { CommandContext } from '../context.ts';
import { examples } from '../options.ts';

const marks = { ok: 'ok     ', warning: 'warning', failed: 'FAILED ' } as const;

/** `turnstream doctor`: checks whether this machine can run turnstream. */
export function doctorCommand(context: CommandContext): Command {
  return new Command('doctor')
    .description('check Node, Java, Maven, the configuration, ports, the disk, the tensor backend, Kafka, and ClickHouse; changes nothing')
    .option('--json', 'print JSON Lines', false)
    .addHelpText('after', examples('turnstream doctor', 'KAFKA_BROKERS=kafka:9092 turnstream doctor'))
    .action(async (options: { readonly json: boolean }) => {
      const { examine } = await import('./doctor.ts');
      const findings = await examine(context.env);
      for (const finding of findings) {
        const { verdict, name, detail } = finding;
        context.out(options.json ? `${JSON.stringify(finding)}\n` : `${marks[verdict]} ${name.padEnd(16)} ${detail}\n`);
      }
      if (findings.some(({ verdict }) => verdict === 'failed')) context.exit(exitCodes.usage);
    });
}
