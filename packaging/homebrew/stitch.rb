# `make dist` writes this formula with the address and checksum of the source tarball into target/dist.
class Stitch < Formula
  desc "One video that shows every step of a written procedure"
  homepage "@HOMEPAGE@"
  url "@URL@"
  sha256 "@SHA256@"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build
  depends_on "espeak-ng"
  depends_on "ffmpeg"
  depends_on "onnxruntime"

  def install
    system "cargo", "install", *std_cargo_args(root: libexec, path: "crates/cli")
    library = Formula["onnxruntime"].opt_lib/shared_library("libonnxruntime")
    (bin/"stitch").write_env_script libexec/"bin/stitch", ORT_DYLIB_PATH: "${ORT_DYLIB_PATH:-#{library}}"
    system libexec/"bin/stitch", "man", "--out", man1
    generate_completions_from_executable(libexec/"bin/stitch", "completions", base_name: "stitch")
  end

  def caveats
    <<~EOS
      The sentence model is needed before the first use:
        stitch models pull all-mpnet-base-v2
        stitch self-check
    EOS
  end

  service do
    run [opt_bin/"stitch", "serve"]
    environment_variables PATH: std_service_path_env
    keep_alive crashed: true
    log_path var/"log/stitch.log"
    error_log_path var/"log/stitch.log"
  end

  test do
    assert_equal "stitch #{version}", shell_output("#{bin}/stitch --version").strip
    system bin/"stitch", "world", "render", "--videos", "1", "--size", "160x90", "--quiet", "--out", testpath/"world"
    assert_path_exists testpath/"world/truth.json"
    assert_match "all-mpnet-base-v2", shell_output("#{bin}/stitch models list")
  end
end
