# Made by iotax. Runs the task of a host and reads its figures.
from ramble.appkit import *


class Iotax(ExecutableApplication):
    """Measures what each layer of a storage stack costs."""

    name = "iotax"
    tags("storage", "IO")

    executable(
        "perform",
        template=[
            "{fleet_folder}/program fleet task perform {fleet_folder}/hosts/{host}",
            'echo "iotax exit code: $?"',
        ],
        use_mpi=False,
        output_capture=OUTPUT_CAPTURE.ALL,
    )
    executable(
        "figures",
        template="{fleet_folder}/program report {fleet_folder}/hosts/{host}/attempt-1/run.iotax --format csv",
        use_mpi=False,
        redirect="{experiment_run_dir}/figures.csv",
    )

    workload("task", executables=["perform", "figures"])
    workload_variable("fleet_folder", default="", description="Emitted folder", workloads=["task"])
    workload_variable("host", default="", description="Host of the fleet", workloads=["task"])

    # One line of the CSV is one figure; a context is one stack under one load.
    figures_file = "{experiment_run_dir}/figures.csv"
    line = r"^\d[^,]*,(?P<load>[^,]+),(?P<stack>[^,]+),[^,]*,"
    figure_of_merit_context("stack", regex=line, output_format="{stack} under {load}")
    for metric, unit in (
        ("iops", "1/s"),
        ("throughput", "B/s"),
        ("read latency p50", "ns"),
        ("read latency p99", "ns"),
        ("write latency p50", "ns"),
        ("write latency p99", "ns"),
    ):
        figure_of_merit(
            metric,
            log_file=figures_file,
            fom_regex=line + metric + r",known,(?P<value>[^,]+),",
            group_name="value",
            units=unit,
            contexts=["stack"],
        )
    # 1 is a finding, such as a broken service level: the run is complete.
    success_criteria("exit code", mode="string", match=r"^iotax exit code: [01]$", file="{log_file}")
