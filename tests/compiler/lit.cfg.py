# Tests of the plugin: `ctest -L compiler`, or lit with the parameters that compiler/CMakeLists.txt gives it.
# A test is a source file with RUN lines, one behaviour each; they say what is compiled, and FileCheck or the
# program's exit status what must have come of it.
import os

import lit.formats

config.name = "sennit-compiler"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".c", ".cpp", ".ll", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
parameter = lit_config.params
config.test_exec_root = os.path.join(parameter["build"], "compiler-tests")

repository = os.path.dirname(os.path.dirname(config.test_source_root))
arch = f"{repository}/src/arch"
config.environment["PATH"] = parameter["tools"] + os.pathsep + os.environ["PATH"]
# Where checks are placed, it is proved that they are enough.
sennit = f"--config={parameter['config']} -mllvm -sennit-polls-verify -I{repository}/include"
sennit_clang = f"clang-19 {sennit} -std=c17"
polls = "-mllvm -sennit-polls -mllvm -verify-machineinstrs -ffp-contract=off"
config.substitutions += [
    ("%polled_cxx", f"clang++-19 {sennit} -std=c++20 {polls} %s %t.trash.o"),
    # The kernels with checks, and what stands for the runtime of a program under stress.
    ("%polled", f"{sennit_clang} {polls} {config.test_source_root}/Inputs/kernels.c %t.trash.o"),
    # Those checks by a page, which is always closed.
    ("%page", f"-mllvm -sennit-polls-check=page %t.page.o {parameter['library']} -lstdc++"),
    # Without one of the guards of -sennit-no-callee-save.
    ("%without=", f"clang++-19 {sennit} -std=c++20 -O2 -fno-crash-diagnostics -o %t.wrong -mllvm -sennit-no-callee-save"
     " -mllvm -sennit-no-callee-save-without="),
    ("%sennit_clangxx", f"clang++-19 {sennit} -std=c++20"),
    ("%sennit_clang", sennit_clang),
    # For what was compiled with -flto.
    ("%link", f"clang-19 -O2 -fuse-ld=lld -Wl,--load-pass-plugin={parameter['plugin']} -Wl,-mllvm,-verify-machineinstrs"),
    ("%stock_clangxx", f"clang++-19 -std=c++20 -I{repository}/include"),
    ("%stock_clang", f"clang-19 -std=c17 -I{repository}/include"),
    ("%live_stats", f"{repository}/tools/sennit-live-stats --config={parameter['config']}"),
    ("%distance", f"{repository}/tools/sennit-polls-distance"),
    # The switch for AArch64, as one object that programs for qemu-aarch64 link.
    ("%make_aarch64_switch", f"clang++-19 --target=aarch64-linux-gnu -std=c++20 -I{repository}/include -O2 -r -nostdlib"
     f" {arch}/entry.cpp {arch}/thread.cpp {arch}/fp_control.cpp {arch}/switch_aarch64.S -o"),
    ("%aarch64", "--target=aarch64-linux-gnu"),
    ("%verify", "-mllvm -verify-machineinstrs"),
    ("%traced_runtime", f"{repository}/bench/mp3/trace.c"),
    ("%include", f"{repository}/include"),
    ("%plugin", parameter["plugin"]),
    ("%config", parameter["config"]),
    ("%library", f"{parameter['library']} -lstdc++ -pthread"),
    ("%inputs", f"{config.test_source_root}/Inputs"),
]
