# real_tools.bats -- what tools write by chunks is what they write alone. SPDX-License-Identifier: MIT
#
# The inputs are made here, the same each time. A tool that is not there is said.
load helper
load job

# needs TOOL... -- the test is about them.
needs() {
    for tool in "$@"; do
        command -v "$tool" >/dev/null || skip "$tool is not there"
    done
    cd "$BATS_TEST_TMPDIR" || return 1
}

# A sequence without repetitions, in ref.fa, and pairs of reads of it, r1.fq.gz and r2.fq.gz.
reads() {
    awk '
        # Two generators of other periods, so that no part of it comes twice.
        function dice(n) {
            a = (a * 16807) % 2147483647
            b = (b * 48271) % 2147483647
            return int((a + b) / 4096) % n
        }
        function mirror(text, i, out) {
            for (i = length(text); i > 0; i--)
                out = out other[substr(text, i, 1)]
            return out
        }
        BEGIN {
            a = 42; b = 7
            other["A"] = "T"; other["C"] = "G"; other["G"] = "C"; other["T"] = "A"
            for (i = 0; i < 20000; i++)
                all = all substr("ACGT", 1 + dice(4), 1)
            print ">chr1\n" all >"ref.fa"
            good = sprintf("%80s", ""); gsub(/ /, "I", good)
            for (i = 1; i <= 1000; i++) {
                at = 1 + dice(19700); apart = 180 + dice(80)
                printf "@r%d/1\n%s\n+\n%s\n", i, substr(all, at, 80), good >"r1.fq"
                printf "@r%d/2\n%s\n+\n%s\n", i, mirror(substr(all, at + apart - 80, 80)), good >"r2.fq"
            }
        }'
    gzip r1.fq r2.fq
}

# same_sam FILE FILE -- but for @PG, which has the command.
same_sam() {
    [ "$(grep -c '^@PG' "$1")" -eq "$(grep -c '^@PG' "$2")" ]
    diff <(grep -v '^@PG' "$1") <(grep -v '^@PG' "$2")
}

# calls -- 2000 variants with a head of five lines.
calls() {
    awk 'BEGIN {
        print "##fileformat=VCFv4.2"
        print "##FILTER=<ID=PASS,Description=\"All filters passed\">"
        print "##contig=<ID=chr1,length=100000>"
        print "##INFO=<ID=DP,Number=1,Type=Integer,Description=\"Depth\">"
        print "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"
        for (i = 1; i <= 2000; i++)
            printf "chr1\t%d\t.\t%s\t%s\t%d\tPASS\tDP=%d\n", i * 7, substr("ACGT", 1 + i % 4, 1),
                substr("CGTA", 1 + i % 4, 1), i * 37 % 100, i * 13 % 60
    }'
}

# tables -- fifty files of CSV with a header each, and separators within quotes.
tables() {
    awk 'BEGIN {
        for (file = 10; file < 60; file++) {
            name = "t" file ".csv"
            print "id,name,value" >name
            for (i = 0; i < 40; i++)
                printf "%d,\"n %d, x\",%d\n", file * 100 + i, file * i % 7, file * i * 31 % 1000 >name
            close(name)
        }
    }'
}

@test "minimap2: pairs of FASTQ that are compressed" {
    needs minimap2
    reads
    minimap2 -t 1 -ax sr ref.fa r1.fq.gz r2.fq.gz >alone 2>/dev/null
    job -i r1.fq.gz --pairs r2.fq.gz --split fastq --block 50k -j 2 --header-out '@' --joblog log -- \
        sh -c 'minimap2 -t 1 -ax sr ref.fa - /dev/fd/3 2>/dev/null'
    same_sam alone out
    [ "$(wc -l <log)" -gt 3 ]
}

@test "bwa: pairs of FASTQ that are compressed" {
    needs bwa
    reads
    bwa index ref.fa 2>/dev/null
    bwa mem -v 1 -I 220,30 ref.fa r1.fq.gz r2.fq.gz >alone 2>/dev/null
    job -i r1.fq.gz --pairs r2.fq.gz --split fastq --block 50k -j 2 --header-out '@' -- \
        bwa mem -v 1 -I 220,30 ref.fa - /dev/fd/3
    same_sam alone out
}

@test "samtools: alignments of BAM" {
    needs samtools
    { printf '@HD\tVN:1.6\n@SQ\tSN:chr1\tLN:20000\n'
        awk 'BEGIN { for (i = 1; i <= 1000; i++)
            printf "r%d\t0\tchr1\t%d\t%d\t8M\t*\t0\t0\tACGTACGT\tIIIIIIII\n", i, i * 7, i % 60 }'; } >in.sam
    samtools view -b --no-PG -o in.bam in.sam
    job -i in.bam --split bam --block 8k -j 2 --header-out '@' --joblog log -- samtools view -h --no-PG -
    cmp in.sam out
    [ "$(wc -l <log)" -gt 3 ]
    job -i in.bam --split bam --header-out 0 --block 8k -j 2 -- samtools view -c -q 30 -
    [ "$(awk '{ n += $1 } END { print n }' out)" = "$(samtools view -c -q 30 in.bam)" ]
}

@test "bcftools: VCF, plain, of blocks and of one gzip member" {
    needs bcftools
    calls >in.vcf
    gzip -c in.vcf >one.vcf.gz
    "$CLEAVE" split -q -i in.vcf -n 1 -o blocks-{}.vcf.gz
    mv blocks-*.vcf.gz in.vcf.bgz
    bcftools view --no-version -i 'QUAL > 50 && INFO/DP < 30' in.vcf >alone
    for file in in.vcf one.vcf.gz in.vcf.bgz; do
        job -i $file --header '#' --header-out --block 10k -j 2 --joblog log -- \
            bcftools view --no-version -i 'QUAL > 50 && INFO/DP < 30' -
        cmp alone out
        [ "$(wc -l <log)" -gt 3 ]
    done
    bcftools query -f '%POS %ALT %INFO/DP\n' in.vcf >alone
    job -i in.vcf.bgz --header '#' --block 10k -j 2 -- bcftools query -f '%POS %ALT %INFO/DP\n' -
    cmp alone out
}

@test "mlr: fifty files of CSV with a header each" {
    needs mlr
    tables
    mlr --icsv --ocsv put '$twice = 2 * $value' t*.csv >alone
    job -i 't*.csv' --split csv --header --header-out -j 2 -- mlr --icsv --ocsv put '$twice = 2 * $value'
    cmp alone out
    # Sums of parts, and their sums.
    mlr --icsv --ocsv stats1 -a sum,count -f value -g name then sort -f name t*.csv >alone
    job -i 't*.csv' --split csv --header --header-out -j 2 -- mlr --icsv --ocsv stats1 -a sum,count -f value -g name
    mlr --icsv --ocsv stats1 -a sum -f value_sum,value_count -g name then sort -f name \
        then rename value_sum_sum,value_sum,value_count_sum,value_count out | cmp alone
}

@test "sqlite3: fifty files of CSV with a header each" {
    needs sqlite3
    tables
    awk 'FNR > 1 || NR == 1' t*.csv >all.csv
    sqlite3 :memory: -cmd '.mode csv' -cmd '.import all.csv t' \
        'select name, count(*), sum(value) from t group by name order by name' >alone
    job -i 't*.csv' --split csv --header -j 2 -- sqlite3 :memory: -cmd '.mode csv' \
        -cmd '.import /dev/stdin t' 'select name, count(*), sum(value) from t group by name'
    sqlite3 :memory: -cmd '.mode csv' -cmd 'create table t (name, n integer, v integer)' \
        -cmd '.import out t' 'select name, sum(n), sum(v) from t group by name order by name' | cmp alone
}

@test "tcpdump: packets of a capture" {
    needs tcpdump
    # UDP from 10.0.0.1 to 10.0.0.2, of an IP head, ports and eight bytes.
    { printf '\xd4\xc3\xb2\xa1\2\0\4\0\0\0\0\0\0\0\0\0\xff\xff\0\0\x65\0\0\0'
        for i in $(seq 100); do
            printf "\\$(printf %03o $i)\0\0\0\0\0\0\0\x24\0\0\0\x24\0\0\0"
            printf '\x45\0\0\x24\0\0\0\0\x40\x11\0\0\x0a\0\0\1\x0a\0\0\2'
            printf "\x10\\$(printf %03o $i)\0\x35\0\x10\0\0abcdefgh"
        done; } >in.pcap
    tcpdump -ttnr in.pcap >alone 2>/dev/null
    [ "$(wc -l <alone)" -eq 100 ]
    job -i in.pcap --split pcap --block 1k -j 2 -- sh -c 'tcpdump -ttnr - 2>/dev/null'
    cmp alone out
}
