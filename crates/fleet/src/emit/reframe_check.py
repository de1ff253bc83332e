# Made by iotax: one test for each host. The exit code is the sanity, figures.json the performance.
# Add `reference` to hold figures against a value and a tolerance for each system.
import json
import os

import reframe as rfm
import reframe.utility.sanity as sn

FOLDER = @FOLDER@


@rfm.simple_test
class IotaxTask(rfm.RunOnlyRegressionTest):
    host = parameter(@HOSTS@)
    valid_systems = ['*']
    valid_prog_environs = ['*']
    executable = os.path.join(FOLDER, 'program')
    num_tasks = 1
    exclusive_access = True
    postrun_cmds = ['echo "iotax exit code: $?"']

    @run_before('run')
    def name_task(self):
        self.task_folder = os.path.join(FOLDER, 'hosts', self.host)
        self.executable_opts = ['fleet', 'task', 'perform', self.task_folder]
        if self.current_partition.scheduler.registered_name in ('slurm', 'squeue'):
            self.job.options += [f'--nodelist={self.host}', '--no-requeue']

    @sanity_function
    def is_complete(self):
        code = sn.extractsingle(r'^iotax exit code: (\d+)$', self.stdout, 1, int)
        return sn.assert_in(code, [0, 1], msg='iotax exit code {0}')

    @run_before('performance')
    def read_figures(self):
        with open(os.path.join(self.task_folder, 'attempt-1', 'figures.json')) as file:
            figures = json.load(file)['figures']
        self.perf_variables = {
            f"{figure['quantity']} of {figure['stack']} under {figure['workload']}":
                sn.make_performance_function(sn.defer(figure['value']), figure['unit'])
            for figure in figures
        }
