"""Reports of neuron-monitor, in the form of the Neuron Monitor User Guide.

Source: aws-neuron-sdk @81ce03a (SDK 2.32.0), tools/neuron-sys-tools/neuron-monitor-user-guide.rst: the whole report
from line 186, hardware from 286, NeuronCores from 389, executions from 443, memory from 530, ECC counters from 695.
Fields that nothing here reads are left out; the values are made up.
"""

from __future__ import annotations

from typing import Any

GIB = 2**30


def report(
    *, cores: int = 32, utilization: float = 50.0, failed: int = 0, hardware_errors: int = 0, ecc: int = 0
) -> dict[str, Any]:
    """Return a report of a trn1.32xlarge on which one process holds `cores` of the 32 NeuronCores."""
    runtime = {
        "pid": 4242,
        "neuron_runtime_tag": "4242",
        "error": "",
        "report": {
            "neuroncore_counters": {
                "neuroncores_in_use": {str(core): {"neuroncore_utilization": utilization} for core in range(cores)},
                "error": "",
            },
            "execution_stats": {
                "error_summary": {"generic": 0, "numerical": 0, "hardware": hardware_errors},
                "execution_summary": {"completed": 100, "completed_with_err": failed, "timed_out": failed},
                "error": "",
            },
            "memory_used": {"neuron_runtime_used_bytes": {"host": GIB, "neuron_device": 128 * GIB}, "error": ""},
        },
    }
    return {
        "neuron_runtime_data": [runtime] if cores else [],
        "system_data": {
            "memory_info": {"memory_total_bytes": 512 * GIB, "memory_used_bytes": 64 * GIB, "error": ""},
            "neuron_hw_counters": {
                "neuron_devices": [
                    {"neuron_device_index": device, "mem_ecc_uncorrected": ecc, "sram_ecc_uncorrected": 0}
                    for device in range(16)
                ],
                "error": "",
            },
        },
        "neuron_hardware_info": {
            "neuron_device_count": 16,
            "neuron_device_memory_size": 32 * GIB,
            "neuroncore_per_device_count": 2,
            "error": "",
        },
    }
