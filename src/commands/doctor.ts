import type { Command } from 'commander';
import { diagnose } from '../proof/doctor.js';
import { doctorText } from '../proof/doctor-report.js';
import { type CommandOutput, paintOf, print, processOutput } from './output.js';

/** `wirefault doctor`: exit code 1 where something that must hold doesn't. */
export function addDoctorCommand(root: Command, output?: CommandOutput, examine = diagnose): void {
  root
    .command('doctor')
    .description('prove the tool on this machine: every teardown against a raw witness, evidence, timers, limits')
    .option('--json', 'the report as JSON')
    .action(async ({ json }: { readonly json?: true }) => {
      const to = output ?? processOutput();
      const report = await examine();
      await print(to, json ? `${JSON.stringify(report, null, 2)}\n` : doctorText(report, paintOf(to)));
      // The report itself says what is wrong: that isn't an error of the command.
      if (!report.ok) process.exitCode = 1;
    });
}
