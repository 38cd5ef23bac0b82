/** What runs inside a container besides the agent: POSIX shell, given its words as arguments and never as text. */

/** Where our scripts keep notes: a small tmpfs, so that neither image nor snapshot has them. */
export const NOTES = "/run/drover";

const END = `
end() {
  kill -KILL -- "-$1" || kill -KILL "$1"
  session=$1
  for stat in /proc/[0-9]*/stat; do
    read -r line < "$stat" || continue
    one=\${stat#/proc/}
    set -- \${line##*) }
    if [ "$4" = "$session" ]; then kill -KILL "\${one%/stat}"; fi
  done
} 2> /dev/null`;

/** First process of a container: ends the process group whose pid it reads, and whatever else is in that session. An engine cannot end a
 *  command, and a second command cannot be started when the process limit is reached; this one runs already and needs no fork. */
export const KEEPER = `${END}
while read -r pid; do end "$pid"; done
exec tail -f /dev/null`;

/** The same as a command, for engines that do not let the keeper read. Argument: pid. */
export const END_SESSION = `${END}
end "$1"`;

const COUNT_KILLED = `
count() {
  killed=0
  for file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
    [ -r "$file" ] || continue
    while read -r name value; do if [ "$name" = oom_kill ]; then killed=$value; fi; done < "$file"
  done
}`;

/** Runs a command: its pid comes first on stdout, a mark last on both streams, after it on stdout the status and the kernel's count of
 *  processes killed for memory, before and after. So an end is known also when something in the background keeps the streams open.
 *  Arguments: mark, `given` or `none` for stdin, directory, command. Its own stderr is none: a shell likes to comment on signals.
 *  Engines throw away what is unread two seconds after an end. So this one ends only when its stdin does, because whoever reads has the
 *  marks and hangs up. A command that is given stdin has that for itself; what it loses is missed, since the marks come last. */
export const RUN = `${COUNT_KILLED}
mark=$1 input=$2 dir=$3; shift 3
exec 3>&2 2> /dev/null
count; before=$killed
echo $$
if [ "$input" = given ]; then exec 4<&0; else exec 4< /dev/null; fi
(exec 2>&3 3>&- <&4 4<&-; cd -- "$dir" || exit 126; exec "$@")
status=$?
count
printf '\\0%s' "$mark" >&3
printf '\\0%s %s %s %s\\n' "$mark" "$status" "$before" "$killed"
[ "$input" = given ] || read -r over
exit 0`;

/** Runs a command that nobody watches and notes its end. Arguments: note, stdin, directory, command. */
export const RUN_DETACHED = `
note=$1 input=$2 dir=$3; shift 3
exec > /dev/null 2>&1 < "$input"
[ "$input" = /dev/null ] || rm -f -- "$input"
(cd -- "$dir" || exit 126; exec "$@")
printf '%s\\0' $? $# "$@" > "$note"`;

/** Says its pid and becomes a shell. */
export const TERMINAL = `
echo $$
cd /workspace
command -v bash > /dev/null && exec bash
exec sh`;

/** What the kernel enforces and counts, one fact per line, then an empty line, then the notes of ended processes. No fork. */
export const REPORT = `
exec 2> /dev/null
tell() { name=$1; shift; for file; do if read -r value < "$file"; then echo "$name $value"; return; fi; done; }
cd /sys/fs/cgroup
tell memory_limit memory.max memory/memory.limit_in_bytes
tell memory_used memory.current memory/memory.usage_in_bytes
tell cpu_limit cpu.max
tell cpu_quota cpu/cpu.cfs_quota_us
tell cpu_period cpu/cpu.cfs_period_us
tell process_limit pids.max pids/pids.max
tell processes pids.current pids/pids.current${COUNT_KILLED}
count; echo "killed $killed"
while read -r max file size soft rest; do if [ "$file $size" = "file size" ]; then echo "file_limit $soft"; fi; done < /proc/self/limits
echo
set -- ${NOTES}/ended-*
[ -e "$1" ] || exit 0
exec cat -- "$@"`;

/** Exit statuses of the scripts below that are answers. */
export const ANSWER = { notFound: 44, notFile: 45, tooLarge: 46, cut: 47 } as const;

/** Writes stdin beside the path and moves it there, so that a link is replaced and nobody sees a part; pipes and devices are refused. Arguments: path, mode, size. */
export const UPLOAD = `
path=$1 mode=$2 size=$3 part=$1.part-$$
[ ! -e "$path" ] || [ -f "$path" ] || exit ${ANSWER.notFile}
mkdir -p -- "\${path%/*}/" || exit 1
trap 'rm -f -- "$part"' EXIT
cat > "$part" && chmod "$mode" "$part" || exit 1
[ "$(wc -c < "$part")" -eq "$size" ] || exit ${ANSWER.cut}
mv -f -- "$part" "$path"`;

/** Arguments: path, limit in bytes. */
export const DOWNLOAD = `
[ -e "$1" ] || exit ${ANSWER.notFound}
[ -f "$1" ] || exit ${ANSWER.notFile}
[ "$(wc -c < "$1")" -le "$2" ] || exit ${ANSWER.tooLarge}
exec cat -- "$1"`;

/** Argument: path. */
export const LIST = `
[ -e "$1" ] || exit ${ANSWER.notFound}
[ -d "$1" ] || exit ${ANSWER.notFile}
exec find "$1/." -mindepth 1 -maxdepth 1 -printf '%y %s %T@ %f\\0'`;
