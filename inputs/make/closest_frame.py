"""Print the time (ps) of the frame in the second half of `gmx energy`'s volume.xvg whose volume is nearest to the mean of that half."""
import sys

lines = (line.split() for line in open(sys.argv[1], encoding="ascii") if line[0] not in "#@")
series = [(float(time), float(volume)) for time, volume in lines]
half = series[len(series) // 2 :]
mean = sum(volume for _, volume in half) / len(half)
print(min(half, key=lambda frame: abs(frame[1] - mean))[0])
